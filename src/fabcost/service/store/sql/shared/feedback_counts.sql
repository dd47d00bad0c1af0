SELECT status, COUNT(*) FROM feedback WHERE model = :model GROUP BY status ORDER BY status
