SELECT
    d.model, d.decision, d.made, d.deadline, d.arm, d.item, d.active, d.learns, d.features, d.record,
    d.seq, d.resolved, d.outcome, d.value, d.label, d.lsn
FROM batch CROSS JOIN decisions AS d
WHERE d.model = batch.model AND d.decision = batch.decision
