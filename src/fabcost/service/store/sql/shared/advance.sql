UPDATE models SET head_lsn = :to WHERE model = :model AND head_lsn = :head RETURNING model
