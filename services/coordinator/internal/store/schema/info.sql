CREATE SCHEMA IF NOT EXISTS pondage;

CREATE TABLE IF NOT EXISTS pondage.schema_info (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    version    bigint  NOT NULL, -- of the newest migration that ran; -1 before the first
    min_binary bigint  NOT NULL  -- the lowest schema level that a binary must know to run here
);

INSERT INTO pondage.schema_info (version, min_binary) VALUES (-1, 0) ON CONFLICT DO NOTHING;
