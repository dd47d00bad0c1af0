SELECT lsn, features, label
FROM decisions
WHERE model = :model AND lsn > :after AND lsn <= :to
ORDER BY lsn
LIMIT :limit
