-- Checkpoints and savepoints (DESIGN §7). The state machine of a checkpoint is waiting → running → complete | failed,
-- and waiting → failed; a row that has ended changes no more, but for being abandoned.

CREATE TABLE pondage.checkpoints (
    seq               bigint      NOT NULL GENERATED ALWAYS AS IDENTITY CONSTRAINT checkpoints_seq_key UNIQUE,
    stream_id         bigint      NOT NULL REFERENCES pondage.streams (id) ON DELETE CASCADE,
    id                bigint      NOT NULL CHECK (id >= 1),
    tx                bigint      NOT NULL CHECK (tx >= 1),
    kind              text        NOT NULL CHECK (kind IN ('interval', 'manual', 'savepoint', 'last')),
    state             text        NOT NULL CHECK (state IN ('waiting', 'running', 'complete', 'failed')),
    stage             bigint      NOT NULL CHECK (stage >= 0),
    deadline_ms       bigint      NOT NULL CHECK (deadline_ms >= 0),
    asked             timestamptz NOT NULL DEFAULT now(),
    begun             timestamptz,
    ended             timestamptz,
    cause_code        text,
    cause_message     text,
    bytes_full        bigint      NOT NULL DEFAULT 0 CHECK (bytes_full >= 0),
    bytes_incremental bigint      NOT NULL DEFAULT 0 CHECK (bytes_incremental >= 0),
    align_ms          bigint      NOT NULL DEFAULT 0 CHECK (align_ms >= 0),
    sync_ms           bigint      NOT NULL DEFAULT 0 CHECK (sync_ms >= 0),
    async_ms          bigint      NOT NULL DEFAULT 0 CHECK (async_ms >= 0),
    abandoned         boolean     NOT NULL DEFAULT false,
    PRIMARY KEY (stream_id, id),

    -- What begins does so in a stage and with a deadline.
    CONSTRAINT checkpoints_begun     CHECK ((stage = 0) = (begun IS NULL) AND (stage = 0) = (deadline_ms = 0)),
    CONSTRAINT checkpoints_waiting   CHECK (state <> 'waiting' OR stage = 0),
    CONSTRAINT checkpoints_working   CHECK (state NOT IN ('running', 'complete') OR stage > 0),
    CONSTRAINT checkpoints_ended     CHECK ((state IN ('complete', 'failed')) = (ended IS NOT NULL)),
    CONSTRAINT checkpoints_failed    CHECK ((state = 'failed') = (cause_code IS NOT NULL)),
    CONSTRAINT checkpoints_cause     CHECK ((cause_code IS NULL) = (cause_message IS NULL)),
    -- Only what could be restored can be left behind by going back to an older one.
    CONSTRAINT checkpoints_abandoned CHECK (NOT abandoned OR state = 'complete')
);

-- One of a stream runs, and one more may wait for it.
CREATE UNIQUE INDEX checkpoints_running_key ON pondage.checkpoints (stream_id) WHERE state = 'running';

CREATE UNIQUE INDEX checkpoints_waiting_key ON pondage.checkpoints (stream_id) WHERE state = 'waiting';

-- The parts of complete checkpoints: one row a task, all written in the transaction that makes the checkpoint complete.
CREATE TABLE pondage.checkpoint_tasks (
    stream_id         bigint  NOT NULL,
    checkpoint        bigint  NOT NULL,
    level             text    NOT NULL CHECK (level IN ('source', 'agg', 'sink', 'merge', 'join')),
    vgroup            integer NOT NULL CHECK (vgroup BETWEEN 0 AND 65535),
    node              text    NOT NULL CHECK (node <> ''),
    manifest          bytea   NOT NULL CHECK (octet_length(manifest) = 32),
    bytes_full        bigint  NOT NULL CHECK (bytes_full >= 0),
    bytes_incremental bigint  NOT NULL CHECK (bytes_incremental >= 0),
    align_ms          bigint  NOT NULL CHECK (align_ms >= 0),
    sync_ms           bigint  NOT NULL CHECK (sync_ms >= 0),
    async_ms          bigint  NOT NULL CHECK (async_ms >= 0),
    sinks             json    NOT NULL,
    PRIMARY KEY (stream_id, checkpoint, level, vgroup),
    FOREIGN KEY (stream_id, checkpoint) REFERENCES pondage.checkpoints (stream_id, id) ON DELETE CASCADE
);

-- A savepoint keeps its checkpoint: the row cannot go before it.
CREATE TABLE pondage.savepoints (
    stream_id  bigint      NOT NULL REFERENCES pondage.streams (id) ON DELETE CASCADE,
    name       text        NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    checkpoint bigint      NOT NULL,
    created    timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT savepoints_pkey PRIMARY KEY (stream_id, name),
    CONSTRAINT savepoints_checkpoint_fkey FOREIGN KEY (stream_id, checkpoint) REFERENCES pondage.checkpoints (stream_id, id)
);

CREATE INDEX savepoints_checkpoint_idx ON pondage.savepoints (stream_id, checkpoint);

-- next_checkpoint: the id of the next one; rises, also across failures.
-- complete_checkpoint: what the next stage restores, the newest complete one; null: its start.
-- settled_checkpoint: the highest that is complete or failed; 0: none.
-- start_checkpoint: what the present stage has restored; null: the stream's start. Its row may be gone by now.
-- failed_checkpoints: in a row, since the newest complete one.
ALTER TABLE pondage.streams
    ADD COLUMN next_checkpoint     bigint  NOT NULL DEFAULT 1 CHECK (next_checkpoint >= 1),
    ADD COLUMN complete_checkpoint bigint,
    ADD COLUMN settled_checkpoint  bigint  NOT NULL DEFAULT 0 CHECK (settled_checkpoint >= 0),
    ADD COLUMN start_checkpoint    bigint,
    ADD COLUMN failed_checkpoints  integer NOT NULL DEFAULT 0 CHECK (failed_checkpoints >= 0),
    ADD CONSTRAINT streams_settled CHECK (settled_checkpoint < next_checkpoint),
    ADD CONSTRAINT streams_complete CHECK (complete_checkpoint BETWEEN 1 AND settled_checkpoint),
    ADD CONSTRAINT streams_start CHECK (start_checkpoint BETWEEN 1 AND settled_checkpoint),
    ADD CONSTRAINT streams_complete_fkey FOREIGN KEY (id, complete_checkpoint) REFERENCES pondage.checkpoints (stream_id, id);

-- What an older coordinator writes fits, but it would begin the stages of a stream at its start: it must not lead any more.
UPDATE pondage.schema_info SET min_binary = 2;

-- Who leads now may be one of them: its term is over, and none of them takes another.
UPDATE pondage.lease_term SET term = term + 1, holder = '' WHERE term > 0;

UPDATE pondage.lease_beat SET term = term + 1, beat = -1 WHERE term > 0;
