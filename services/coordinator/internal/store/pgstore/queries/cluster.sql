-- name: Cluster :one
SELECT id, name, vgroups FROM pondage.cluster;

-- name: InsertCluster :execrows
INSERT INTO pondage.cluster (id, name, vgroups) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: FillVGroups :exec
INSERT INTO pondage.vgroups (vgroup)
SELECT g FROM generate_series(0, sqlc.arg(last)::integer) AS g
ON CONFLICT DO NOTHING;

-- name: Nodes :many
SELECT * FROM pondage.nodes ORDER BY id;

-- name: LockNode :one
SELECT * FROM pondage.nodes WHERE id = $1 FOR UPDATE;

-- name: PutNode :exec
INSERT INTO pondage.nodes (id, instance, address, version, state) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (id) DO UPDATE
SET registered = CASE WHEN nodes.instance = excluded.instance THEN nodes.registered ELSE now() END,
    instance = excluded.instance, address = excluded.address, version = excluded.version, state = excluded.state;

-- name: VGroups :many
SELECT vgroup, owner FROM pondage.vgroups ORDER BY vgroup;

-- name: LockVGroups :many
SELECT vgroup, owner FROM pondage.vgroups ORDER BY vgroup FOR UPDATE;

-- name: PutVGroup :exec
UPDATE pondage.vgroups SET owner = $2 WHERE vgroup = $1;
