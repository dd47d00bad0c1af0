INSERT INTO models (model, settings, created, edited, head_lsn, catalogue_version, base)
VALUES (:model, :settings, :created, :edited, :head_lsn, :catalogue_version, :base)
ON CONFLICT DO NOTHING
RETURNING model
