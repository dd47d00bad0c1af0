SELECT listed.item FROM (
    SELECT place, item FROM items WHERE model = :model AND since <= :version
    UNION ALL
    SELECT place, item FROM past_items
    WHERE model = :model AND since <= :version AND until > :version
) AS listed
ORDER BY listed.place
