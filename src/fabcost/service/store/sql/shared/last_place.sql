SELECT COALESCE(MAX(place), 0) FROM items WHERE model = :model
