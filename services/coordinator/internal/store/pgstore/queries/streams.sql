-- name: StreamByName :one
SELECT * FROM pondage.streams WHERE name = $1;

-- name: LockStream :one
SELECT * FROM pondage.streams WHERE id = $1 FOR UPDATE;

-- name: LockStreamByName :one
SELECT * FROM pondage.streams WHERE name = $1 FOR UPDATE;

-- name: Streams :many
SELECT * FROM pondage.streams WHERE name > $1 ORDER BY name LIMIT $2;

-- name: StreamNamesOfSource :many
SELECT name FROM pondage.streams WHERE source_id = $1 ORDER BY name;

-- name: InsertStream :one
INSERT INTO pondage.streams (name, source_id, source_spec, spec, partitions, state, wanted, generation, stage,
                             stage_due, stage_begun, ready, restarts, cause_code, cause_message, progress)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
RETURNING *;

-- name: UpdateStream :one
UPDATE pondage.streams
SET version = version + 1, state = $2, wanted = $3, generation = $4, stage = $5, stage_due = $6, stage_begun = $7,
    ready = $8, restarts = $9, cause_code = $10, cause_message = $11, progress = $12, partitions = $13,
    next_checkpoint = $14, complete_checkpoint = $15, settled_checkpoint = $16, start_checkpoint = $17,
    failed_checkpoints = $18, updated = now()
WHERE id = $1
RETURNING *;

-- name: UpdateCuts :execrows
UPDATE pondage.streams
SET next_checkpoint = $2, complete_checkpoint = $3, settled_checkpoint = $4, start_checkpoint = $5,
    failed_checkpoints = $6, restarts = $7
WHERE id = $1;

-- name: DeleteStream :execrows
DELETE FROM pondage.streams WHERE id = $1;

-- name: InsertTarget :exec
INSERT INTO pondage.targets (kind, name, stream_id) VALUES ($1, $2, $3);

-- name: Targets :many
SELECT * FROM pondage.targets WHERE stream_id = ANY($1::bigint[]) ORDER BY stream_id, kind, name;

-- name: Tasks :many
SELECT * FROM pondage.tasks WHERE stream_id = $1;

-- name: DeleteTasks :exec
DELETE FROM pondage.tasks WHERE stream_id = $1;

-- name: InsertTasks :exec
INSERT INTO pondage.tasks (stream_id, stage, level, vgroup, node, instance)
SELECT @stream_id::bigint, @stage::bigint, unnest(@levels::text[]), unnest(@vgroups::integer[]),
       unnest(@nodes::text[]), unnest(@instances::text[]);
