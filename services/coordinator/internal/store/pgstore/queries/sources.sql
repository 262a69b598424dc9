-- name: SourceByName :one
SELECT * FROM pondage.sources WHERE name = $1;

-- name: LockSource :one
SELECT * FROM pondage.sources WHERE name = $1 FOR UPDATE;

-- name: Sources :many
SELECT * FROM pondage.sources WHERE name > $1 ORDER BY name LIMIT $2;

-- name: InsertSource :one
INSERT INTO pondage.sources (name, spec) VALUES ($1, $2) RETURNING *;

-- name: UpdateSource :one
UPDATE pondage.sources SET version = version + 1, spec = $2, updated = now() WHERE id = $1 RETURNING *;

-- name: DeleteSource :execrows
DELETE FROM pondage.sources WHERE id = $1;
