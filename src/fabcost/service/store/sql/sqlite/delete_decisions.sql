DELETE FROM decisions WHERE (model, decision) IN (SELECT model, decision FROM batch)
