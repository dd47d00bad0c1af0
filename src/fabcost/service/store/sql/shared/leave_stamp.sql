UPDATE server SET stamp = :stamp, latest = CASE WHEN latest < :time THEN :time ELSE latest END
