INSERT INTO items (model, item, place, features, since)
SELECT model, item, rank, features, since FROM batch WHERE TRUE ORDER BY rank
ON CONFLICT (model, item) DO UPDATE SET features = excluded.features
