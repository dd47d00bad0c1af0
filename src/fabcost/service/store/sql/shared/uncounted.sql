SELECT
    d.model, d.decision, d.made, d.deadline, d.arm, d.item, d.active, d.learns, d.features, d.record,
    d.seq, d.resolved, d.outcome, d.value, d.label, d.lsn
FROM decisions AS d
WHERE d.seq > (SELECT counted FROM server)
ORDER BY d.seq
