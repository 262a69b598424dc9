// Package block is the columnar vocabulary: column types, columns and batches in memory, and the block, a batch with a
// header, on the wire (DESIGN §4).
//
// It owns: Type and its text form, Column and Batch, the header of a block and its Kafka record headers, the Arrow IPC
// form of a batch, the CRC. It does not own: what the columns of an edge mean (package window), msg ids and stages
// (package dispatch gives them).
//
// Memory layout. A Column is like an Arrow array except for nulls, which are a []bool that is nil while no row is
// null: kernels read it without bit fiddling, and the common column without nulls costs nothing. Columns are reused:
// Reset keeps the memory. A Batch's columns have the same number of rows.
//
// Wire. One Kafka message is one block: the value is an Arrow IPC stream (schema, one record batch), the headers are
// listed in header.go. Any Arrow reader reads an edge topic.
//
// Start reading at Column, then Header.
package block
