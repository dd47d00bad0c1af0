DELETE FROM items WHERE (model, item) IN (SELECT model, item FROM batch)
