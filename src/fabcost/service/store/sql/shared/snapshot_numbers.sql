SELECT lsn FROM snapshots WHERE model = :model ORDER BY lsn DESC
