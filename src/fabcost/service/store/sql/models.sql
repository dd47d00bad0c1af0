-- Models, the steps by which their schemas grew, and their catalogues.

-- name: models
SELECT model, settings, created, edited, head_lsn, catalogue_version
FROM models
WHERE deleted = 0
ORDER BY model

-- name: insert_model
INSERT INTO models (model, settings, created, edited, head_lsn, catalogue_version, base)
VALUES (:model, :settings, :created, :edited, :head_lsn, :catalogue_version, :base)
ON CONFLICT DO NOTHING
RETURNING model

-- name: model_base
SELECT base FROM models WHERE model = :model

-- name: update_model
UPDATE models SET settings = :settings, edited = :edited WHERE model = :model RETURNING model

-- name: mark_deleted
UPDATE models SET deleted = 1 WHERE model = :model

-- name: deleted_models
SELECT model FROM models WHERE deleted <> 0 ORDER BY model

-- name: delete_model
DELETE FROM models WHERE model = :model

-- name: delete_some_{table} for feedback.decision decisions.decision tallies.item items.item past_items.place counts.start
DELETE FROM {table}
WHERE
    model = :model
    AND {key} >= :after
    AND {key} <= (
        SELECT MAX({key}) FROM (
            SELECT {key} FROM {table} WHERE model = :model AND {key} >= :after ORDER BY {key} LIMIT :limit
        ) AS piece
    )
RETURNING {key}

-- name: advance
UPDATE models SET head_lsn = :to WHERE model = :model AND head_lsn = :head RETURNING model

-- name: insert_steps
INSERT INTO steps (model, seq, step)
SELECT model, seq, step FROM batch WHERE TRUE ORDER BY place
ON CONFLICT DO NOTHING

-- name: steps
SELECT step FROM steps WHERE model = :model ORDER BY seq

-- name: steps_since
SELECT s.model, s.step
FROM batch CROSS JOIN steps AS s
WHERE s.model = batch.model AND s.seq >= batch.seq
ORDER BY s.model, s.seq

-- name: catalogue_version
SELECT catalogue_version FROM models WHERE model = :model

-- name: items
SELECT item, features FROM items WHERE model = :model ORDER BY place

-- name: listed_items
SELECT listed.item FROM (
    SELECT place, item FROM items WHERE model = :model AND since <= :version
    UNION ALL
    SELECT place, item FROM past_items
    WHERE model = :model AND since <= :version AND until > :version
) AS listed
ORDER BY listed.place

-- name: last_place
SELECT COALESCE(MAX(place), 0) FROM items WHERE model = :model

-- name: put_items
INSERT INTO items (model, item, place, features, since)
SELECT model, item, rank, features, since FROM batch WHERE TRUE ORDER BY rank
ON CONFLICT (model, item) DO UPDATE SET features = excluded.features

-- name: keep_past_items
INSERT INTO past_items (model, place, item, since, until)
SELECT items.model, items.place, items.item, items.since, batch.until
FROM batch CROSS JOIN items
WHERE items.model = batch.model AND items.item = batch.item
ON CONFLICT DO NOTHING

-- name: delete_items
DELETE FROM items WHERE (model, item) IN (SELECT model, item FROM batch)

-- name: set_catalogue_version
UPDATE models SET catalogue_version = :version WHERE model = :model
