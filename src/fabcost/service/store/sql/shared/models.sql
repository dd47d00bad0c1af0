SELECT model, settings, created, edited, head_lsn, catalogue_version
FROM models
WHERE deleted = 0
ORDER BY model
