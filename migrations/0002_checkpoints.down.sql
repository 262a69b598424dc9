ALTER TABLE pondage.streams
    DROP CONSTRAINT streams_complete_fkey,
    DROP CONSTRAINT streams_start,
    DROP CONSTRAINT streams_complete,
    DROP CONSTRAINT streams_settled,
    DROP COLUMN failed_checkpoints,
    DROP COLUMN start_checkpoint,
    DROP COLUMN settled_checkpoint,
    DROP COLUMN complete_checkpoint,
    DROP COLUMN next_checkpoint;

DROP TABLE pondage.savepoints;

DROP TABLE pondage.checkpoint_tasks;

DROP TABLE pondage.checkpoints;

UPDATE pondage.schema_info SET min_binary = 1;
