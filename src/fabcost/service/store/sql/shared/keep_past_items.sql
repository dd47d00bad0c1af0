INSERT INTO past_items (model, place, item, since, until)
SELECT items.model, items.place, items.item, items.since, batch.until
FROM batch CROSS JOIN items
WHERE items.model = batch.model AND items.item = batch.item
ON CONFLICT DO NOTHING
