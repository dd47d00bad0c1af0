DELETE FROM decisions
WHERE
    model = :model
    AND decision >= :after
    AND decision <= (
        SELECT MAX(decision) FROM (
            SELECT decision FROM decisions WHERE model = :model AND decision >= :after ORDER BY decision LIMIT :limit
        ) AS piece
    )
RETURNING decision
