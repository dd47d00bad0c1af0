INSERT INTO steps (model, seq, step)
SELECT model, seq, step FROM batch WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING
