SELECT model FROM models WHERE deleted <> 0 ORDER BY model
