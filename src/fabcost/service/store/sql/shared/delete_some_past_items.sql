DELETE FROM past_items
WHERE
    model = :model
    AND place >= :after
    AND place <= (
        SELECT MAX(place) FROM (
            SELECT place FROM past_items WHERE model = :model AND place >= :after ORDER BY place LIMIT :limit
        ) AS piece
    )
RETURNING place
