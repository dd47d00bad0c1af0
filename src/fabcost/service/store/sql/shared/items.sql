SELECT item, features FROM items WHERE model = :model ORDER BY place
