DELETE FROM snapshots
WHERE
    model = :model
    AND lsn NOT IN (
        SELECT lsn FROM snapshots WHERE model = :model AND lsn <= :lsn ORDER BY lsn DESC LIMIT 2
    )
