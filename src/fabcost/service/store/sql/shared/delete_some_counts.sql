DELETE FROM counts
WHERE
    model = :model
    AND start >= :after
    AND start <= (
        SELECT MAX(start) FROM (
            SELECT start FROM counts WHERE model = :model AND start >= :after ORDER BY start LIMIT :limit
        ) AS piece
    )
RETURNING start
