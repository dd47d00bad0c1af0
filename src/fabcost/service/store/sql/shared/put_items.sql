INSERT INTO items (model, item, place, features)
SELECT model, item, rank, features FROM batch WHERE TRUE ORDER BY rank
ON CONFLICT (model, item) DO UPDATE SET features = excluded.features
