DELETE FROM feedback INDEXED BY feedback_parked
WHERE status = 'parked' AND received < :before
RETURNING model, decision
