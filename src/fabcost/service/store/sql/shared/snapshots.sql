SELECT lsn, content FROM snapshots WHERE model = :model ORDER BY lsn DESC
