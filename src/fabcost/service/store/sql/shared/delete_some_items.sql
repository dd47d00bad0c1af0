DELETE FROM items
WHERE
    model = :model
    AND item >= :after
    AND item <= (
        SELECT MAX(item) FROM (
            SELECT item FROM items WHERE model = :model AND item >= :after ORDER BY item LIMIT :limit
        ) AS piece
    )
RETURNING item
