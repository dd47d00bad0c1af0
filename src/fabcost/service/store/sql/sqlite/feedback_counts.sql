SELECT status, COUNT(*)
FROM feedback INDEXED BY feedback_by_status
WHERE model = :model
GROUP BY status
ORDER BY status
