-- The metastore of the main job (DESIGN §11). The CHECK constraints hold the state machines: a row that breaks them
-- cannot be written by any version of the coordinator.

CREATE TABLE pondage.cluster (
    one      boolean PRIMARY KEY DEFAULT true CHECK (one),
    id       text    NOT NULL CHECK (id <> ''),
    name     text    NOT NULL CHECK (name ~ '^[a-z][a-z0-9_]{0,30}$'),
    vgroups  integer NOT NULL CHECK (vgroups BETWEEN 1 AND 65535)
);

-- Who leads. Changed only by a take-over; every write of the metastore takes the row FOR SHARE and checks its term.
CREATE TABLE pondage.lease_term (
    one    boolean PRIMARY KEY DEFAULT true CHECK (one),
    term   bigint NOT NULL CHECK (term >= 0),
    holder text   NOT NULL
);

-- The sign of life of who leads. A row of its own, so that a renewal does not wait for writes. A beat of -1 means that
-- the holder has given the lease up.
CREATE TABLE pondage.lease_beat (
    one  boolean PRIMARY KEY DEFAULT true CHECK (one),
    term bigint NOT NULL CHECK (term >= 0),
    beat bigint NOT NULL CHECK (beat >= -1)
);

INSERT INTO pondage.lease_term (term, holder) VALUES (0, '');

INSERT INTO pondage.lease_beat (term, beat) VALUES (0, -1);

CREATE TABLE pondage.sources (
    id      bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name    text        NOT NULL CONSTRAINT sources_name_key UNIQUE CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    version bigint      NOT NULL DEFAULT 1 CHECK (version >= 1),
    spec    json        NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    updated timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE pondage.streams (
    id            bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name          text        NOT NULL CONSTRAINT streams_name_key UNIQUE CHECK (name ~ '^[a-z][a-z0-9_]{0,62}$'),
    version       bigint      NOT NULL DEFAULT 1 CHECK (version >= 1),
    source_id     bigint      NOT NULL CONSTRAINT streams_source_fkey REFERENCES pondage.sources (id),
    source_spec   json        NOT NULL,
    spec          json        NOT NULL,
    partitions    json        NOT NULL,
    state         text        NOT NULL CHECK (state IN ('creating', 'running', 'recovering', 'pausing', 'paused',
                                                        'stopping', 'stopped', 'finished', 'failed', 'dropping')),
    wanted        text        NOT NULL CHECK (wanted IN ('running', 'paused', 'stopped')),
    generation    bigint      NOT NULL CHECK (generation >= 1),
    stage         bigint      NOT NULL CHECK (stage >= 0),
    stage_due     boolean     NOT NULL,
    stage_begun   timestamptz,
    ready         boolean     NOT NULL,
    restarts      integer     NOT NULL CHECK (restarts >= 0),
    cause_code    text,
    cause_message text,
    progress      json,
    created       timestamptz NOT NULL DEFAULT now(),
    updated       timestamptz NOT NULL DEFAULT now(),

    -- What a state says about what is wanted.
    CONSTRAINT streams_stopped  CHECK (state NOT IN ('stopping', 'stopped') OR wanted = 'stopped'),
    CONSTRAINT streams_starting CHECK (state NOT IN ('creating', 'recovering') OR wanted IN ('running', 'paused')),
    CONSTRAINT streams_running  CHECK (state <> 'running' OR wanted = 'running'),
    CONSTRAINT streams_paused   CHECK (state NOT IN ('pausing', 'paused') OR wanted = 'paused'),
    -- A stage that works has been placed and was ready; one that is due is waited for in two states only.
    CONSTRAINT streams_placed   CHECK (state NOT IN ('running', 'pausing', 'paused', 'finished') OR (stage > 0 AND ready)),
    CONSTRAINT streams_due      CHECK (NOT stage_due OR state IN ('creating', 'recovering')),
    CONSTRAINT streams_begun    CHECK ((stage = 0) = (stage_begun IS NULL)),
    CONSTRAINT streams_failed   CHECK (state <> 'failed' OR cause_code IS NOT NULL),
    CONSTRAINT streams_cause    CHECK ((cause_code IS NULL) = (cause_message IS NULL))
);

CREATE INDEX streams_source_idx ON pondage.streams (source_id);

-- The tables and topics that streams write: no two streams have the same.
CREATE TABLE pondage.targets (
    kind      text   NOT NULL CHECK (kind IN ('postgres', 'kafka')),
    name      text   NOT NULL,
    stream_id bigint NOT NULL REFERENCES pondage.streams (id) ON DELETE CASCADE,
    CONSTRAINT targets_pkey PRIMARY KEY (kind, name)
);

CREATE INDEX targets_stream_idx ON pondage.targets (stream_id);

-- The placement of a stage: one row a task, written in the transaction that raises the stage.
CREATE TABLE pondage.tasks (
    stream_id bigint  NOT NULL REFERENCES pondage.streams (id) ON DELETE CASCADE,
    stage     bigint  NOT NULL CHECK (stage >= 1),
    level     text    NOT NULL CHECK (level IN ('source', 'agg', 'sink', 'merge', 'join')),
    vgroup    integer NOT NULL CHECK (vgroup BETWEEN 0 AND 65535),
    node      text    NOT NULL CHECK (node <> ''),
    instance  text    NOT NULL CHECK (instance ~ '^[0-9]+-[0-9a-f]{8}$'),
    PRIMARY KEY (stream_id, stage, level, vgroup)
);

CREATE TABLE pondage.nodes (
    id         text        PRIMARY KEY CHECK (id <> ''),
    instance   text        NOT NULL CHECK (instance ~ '^[0-9]+-[0-9a-f]{8}$'),
    address    text        NOT NULL CHECK (address <> ''),
    version    text        NOT NULL,
    state      text        NOT NULL CHECK (state IN ('alive', 'suspect', 'left')),
    registered timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE pondage.vgroups (
    vgroup integer PRIMARY KEY CHECK (vgroup BETWEEN 0 AND 65535),
    owner  text    REFERENCES pondage.nodes (id)
);

CREATE TABLE pondage.events (
    id       bigint      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at       timestamptz NOT NULL DEFAULT clock_timestamp(),
    severity text        NOT NULL CHECK (severity IN ('info', 'warning', 'alert')),
    code     text        NOT NULL CHECK (code <> ''),
    stream   text        NOT NULL,
    node     text        NOT NULL,
    message  text        NOT NULL
);

CREATE INDEX events_stream_idx ON pondage.events (stream, id);

-- The remembered answers of requests that may be repeated.
CREATE TABLE pondage.idempotency_keys (
    scope   text        NOT NULL,
    key     text        NOT NULL,
    request bytea       NOT NULL CHECK (octet_length(request) = 32),
    answer  json        NOT NULL,
    created timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (scope, key)
);

CREATE INDEX idempotency_keys_created_idx ON pondage.idempotency_keys (created);

CREATE TABLE pondage.api_tokens (
    name    text        NOT NULL CONSTRAINT api_tokens_pkey PRIMARY KEY CHECK (name <> ''),
    hash    bytea       NOT NULL CONSTRAINT api_tokens_hash_key UNIQUE CHECK (octet_length(hash) = 32),
    role    text        NOT NULL CHECK (role IN ('viewer', 'editor', 'admin')),
    created timestamptz NOT NULL DEFAULT now()
);

UPDATE pondage.schema_info SET min_binary = 1;
