SELECT
    d.model, d.decision, d.made, d.deadline, d.arm, d.item, d.active, d.learns, d.features, d.record,
    d.seq, d.resolved, d.outcome, d.value, d.label, d.lsn
FROM decisions AS d
WHERE d.model = :model AND d.seq > :after
ORDER BY d.seq
LIMIT :limit
