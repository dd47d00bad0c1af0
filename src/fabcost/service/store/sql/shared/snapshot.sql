SELECT content FROM snapshots WHERE model = :model AND lsn = :lsn
