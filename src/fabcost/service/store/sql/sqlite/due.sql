SELECT
    d.model, d.decision, d.made, d.deadline, d.arm, d.item, d.active, d.learns, d.features, d.record,
    d.seq, d.resolved, d.outcome, d.value, d.label, d.lsn
FROM decisions AS d
WHERE d.resolved IS NULL AND d.deadline <= :now
    AND d.model NOT IN (SELECT value FROM json_each(:without))
ORDER BY d.deadline, d.seq
LIMIT :limit
