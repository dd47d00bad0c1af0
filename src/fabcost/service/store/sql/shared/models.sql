SELECT model, settings, created, edited, head_lsn, catalogue_version FROM models ORDER BY model
