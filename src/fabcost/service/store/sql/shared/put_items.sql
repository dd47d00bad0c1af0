INSERT INTO items (model, item, place, features)
SELECT
    model,
    item,
    (SELECT COALESCE(MAX(items.place), 0) FROM items WHERE items.model = batch.model) + place,
    features
FROM batch WHERE TRUE ORDER BY place
ON CONFLICT (model, item) DO UPDATE SET features = excluded.features
