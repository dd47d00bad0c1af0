DELETE FROM feedback WHERE status = 'parked' AND received < :before RETURNING model, decision
