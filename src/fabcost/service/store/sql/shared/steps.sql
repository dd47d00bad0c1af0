SELECT step FROM steps WHERE model = :model ORDER BY seq
