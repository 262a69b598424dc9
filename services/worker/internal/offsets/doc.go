// Package offsets publishes where a source task is, as the committed offsets of a consumer group, for tools that watch groups
// (DESIGN §9). Pondage itself reads them nowhere: its positions are in its checkpoints.
//
// It owns: when they are published, repetition, and who may. It does not own: the transaction (package kafka), nor the
// positions (package task).
//
// Invariants: only positions of complete checkpoints are published; they never move back, also not by a task that slept: each
// source task publishes those of its own partitions under a transactional id that is the same in all stages, and asks
// whether its stage is current before it takes the id over. Brokers that are away hold up neither a checkpoint nor a task.
//
// Goroutines: Run is one; Publish may be called from any.
//
// Start reading at Publisher.
package offsets
