UPDATE server SET counted = (SELECT COALESCE(MAX(seq), 0) FROM decisions)
