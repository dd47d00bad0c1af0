INSERT INTO snapshots (model, lsn, made, content) VALUES (:model, :lsn, :made, :content)
ON CONFLICT (model, lsn) DO UPDATE SET made = excluded.made, content = excluded.content
