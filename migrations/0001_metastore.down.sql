DROP TABLE pondage.api_tokens;

DROP TABLE pondage.idempotency_keys;

DROP TABLE pondage.events;

DROP TABLE pondage.vgroups;

DROP TABLE pondage.nodes;

DROP TABLE pondage.tasks;

DROP TABLE pondage.targets;

DROP TABLE pondage.streams;

DROP TABLE pondage.sources;

DROP TABLE pondage.lease_beat;

DROP TABLE pondage.lease_term;

DROP TABLE pondage.cluster;

UPDATE pondage.schema_info SET min_binary = 0;
