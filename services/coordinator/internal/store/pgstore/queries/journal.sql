-- name: Events :many
SELECT * FROM pondage.events
WHERE (@stream::text = '' OR stream = @stream) AND (@before::bigint = 0 OR id < @before)
ORDER BY id DESC LIMIT @count;

-- name: InsertEvent :exec
INSERT INTO pondage.events (severity, code, stream, node, message) VALUES ($1, $2, $3, $4, $5);

-- name: TrimEvents :exec
DELETE FROM pondage.events
WHERE id < (SELECT min(id) FROM (SELECT id FROM pondage.events ORDER BY id DESC LIMIT @keep) AS kept);

-- name: Answer :one
SELECT request, answer FROM pondage.idempotency_keys WHERE scope = $1 AND key = $2;

-- name: InsertAnswer :execrows
INSERT INTO pondage.idempotency_keys (scope, key, request, answer) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING;

-- name: TrimAnswers :exec
DELETE FROM pondage.idempotency_keys WHERE created < now() - make_interval(secs => @seconds::double precision);

-- name: TokenByHash :one
SELECT * FROM pondage.api_tokens WHERE hash = $1;

-- name: Tokens :many
SELECT * FROM pondage.api_tokens ORDER BY name;

-- name: InsertToken :exec
INSERT INTO pondage.api_tokens (name, hash, role) VALUES ($1, $2, $3);

-- name: DeleteToken :execrows
DELETE FROM pondage.api_tokens WHERE name = $1;

-- name: Wake :exec
SELECT pg_notify('pondage_change', '');
