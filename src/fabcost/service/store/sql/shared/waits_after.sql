SELECT 1 WHERE
    EXISTS (SELECT 1 FROM feedback WHERE status = 'parked' AND received > :moment)
    OR (
        SELECT COUNT(*) FROM (
            SELECT 1 FROM decisions
            WHERE resolved IS NULL AND deadline > :moment AND made > :moment
            ORDER BY deadline DESC
            LIMIT 1
        ) AS later
    ) > 0
