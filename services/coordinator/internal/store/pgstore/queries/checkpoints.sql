-- name: CheckpointByID :one
SELECT * FROM pondage.checkpoints WHERE stream_id = $1 AND id = $2;

-- name: Checkpoints :many
SELECT sqlc.embed(c), s.name
FROM pondage.checkpoints AS c JOIN pondage.streams AS s ON s.id = c.stream_id
WHERE (@stream::bigint = 0 OR c.stream_id = @stream) AND (@before::bigint = 0 OR c.seq < @before)
ORDER BY c.seq DESC LIMIT @count;

-- name: OpenCheckpoints :many
SELECT * FROM pondage.checkpoints
WHERE state IN ('waiting', 'running') AND (@stream::bigint = 0 OR stream_id = @stream)
ORDER BY stream_id, id;

-- name: CompleteCheckpoints :many
SELECT stream_id, id FROM pondage.checkpoints WHERE state = 'complete' ORDER BY stream_id, id;

-- name: EndedCheckpoints :many
SELECT c.id, c.state, c.abandoned,
       EXISTS (SELECT FROM pondage.savepoints AS s WHERE s.stream_id = c.stream_id AND s.checkpoint = c.id) AS saved
FROM pondage.checkpoints AS c
WHERE c.stream_id = $1 AND c.ended IS NOT NULL
ORDER BY c.id;

-- name: InsertCheckpoint :one
INSERT INTO pondage.checkpoints (stream_id, id, tx, kind, state, stage, deadline_ms, begun)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
RETURNING *;

-- name: UpdateCheckpoint :one
UPDATE pondage.checkpoints
SET kind = $3, state = $4, stage = $5, deadline_ms = $6, begun = $7, ended = $8, cause_code = $9, cause_message = $10,
    bytes_full = $11, bytes_incremental = $12, align_ms = $13, sync_ms = $14, async_ms = $15
WHERE stream_id = $1 AND id = $2 AND ended IS NULL
RETURNING *;

-- name: AbandonCheckpoints :exec
UPDATE pondage.checkpoints SET abandoned = (id > @above::bigint)
WHERE stream_id = @stream_id AND state = 'complete' AND id >= @above AND abandoned <> (id > @above);

-- name: DeleteCheckpoints :exec
DELETE FROM pondage.checkpoints WHERE stream_id = @stream_id AND id = ANY(@ids::bigint[]);

-- name: CheckpointTasks :many
SELECT * FROM pondage.checkpoint_tasks WHERE stream_id = $1 AND checkpoint = $2;

-- name: InsertCheckpointTasks :exec
INSERT INTO pondage.checkpoint_tasks (stream_id, checkpoint, level, vgroup, node, manifest, bytes_full, bytes_incremental,
                                      align_ms, sync_ms, async_ms, sinks)
SELECT @stream_id::bigint, @checkpoint::bigint, unnest(@levels::text[]), unnest(@vgroups::integer[]), unnest(@nodes::text[]),
       unnest(@manifests::bytea[]), unnest(@bytes_full::bigint[]), unnest(@bytes_incremental::bigint[]),
       unnest(@align_ms::bigint[]), unnest(@sync_ms::bigint[]), unnest(@async_ms::bigint[]), unnest(@sinks::json[]);

-- name: SavepointByName :one
SELECT sqlc.embed(p), sqlc.embed(c)
FROM pondage.savepoints AS p JOIN pondage.checkpoints AS c ON c.stream_id = p.stream_id AND c.id = p.checkpoint
WHERE p.stream_id = $1 AND p.name = $2;

-- name: Savepoints :many
SELECT sqlc.embed(p), sqlc.embed(c)
FROM pondage.savepoints AS p JOIN pondage.checkpoints AS c ON c.stream_id = p.stream_id AND c.id = p.checkpoint
WHERE p.stream_id = $1 AND p.name > $2
ORDER BY p.name LIMIT $3;

-- name: InsertSavepoint :exec
INSERT INTO pondage.savepoints (stream_id, name, checkpoint) VALUES ($1, $2, $3);

-- name: DeleteSavepoint :execrows
DELETE FROM pondage.savepoints WHERE stream_id = $1 AND name = $2;
