// Package setaside lists the records that were set aside, dead letters of a source and late records of a stream (DESIGN
// §8), and appends dead letters to their source once more (§9).
//
// It owns: the reading of their topics, what makes two of them the same, the order and the pages of a listing, the choice
// of what is replayed. It does not own: who sets aside what and why, and the headers of such a record (package stage); that
// a stream takes one replay per origin (package task).
//
// The same record may be there many times: after a reset, or from several streams. So a listing is by identity, the
// record's origin (topic, partition, offset); a result that was set aside has none and is known by its stream and key. A
// page reads the topic to its present end and keeps the first items behind the cursor, each once: pages never repeat an
// item, and cost a read of the topic each. It goes back maxScan records; what is older is not listed.
//
// Start reading at Service.DeadLetters, then scan.go, and Service.Replay.
package setaside
