-- name: ShareTerm :one
SELECT term FROM pondage.lease_term FOR SHARE;

-- name: MinBinary :one
SELECT min_binary FROM pondage.schema_info FOR SHARE;

-- name: Lease :one
SELECT t.term, t.holder, b.beat
FROM pondage.lease_term AS t, pondage.lease_beat AS b;

-- name: TakeOver :one
UPDATE pondage.lease_term SET term = term + 1, holder = $2 WHERE term = $1 RETURNING term;

-- name: BeginBeat :execrows
UPDATE pondage.lease_beat SET term = @new_term, beat = 0 WHERE term = @seen_term AND beat = @seen_beat;

-- name: Renew :execrows
UPDATE pondage.lease_beat SET beat = beat + 1 WHERE lease_beat.term = @term AND beat >= 0
AND EXISTS (SELECT FROM pondage.lease_term AS t WHERE t.term = @term);

-- name: Release :execrows
UPDATE pondage.lease_beat SET beat = -1 WHERE lease_beat.term = @term
AND EXISTS (SELECT FROM pondage.lease_term AS t WHERE t.term = @term);
