// Package decode turns the value of a source record, one JSON object, into one row of a block, or says why not.
//
// It owns: the rules by which a record is accepted (docs/semantics names them; testdata has a record for each), the
// codes of dead letters, the framing of records in a file, and the proposal of a schema from a sample. It does not own:
// what becomes of a refused record (the source task sends it to the dead-letter topic), lateness and watermarks
// (package watermark), the form in which users write a source (package spec).
//
// A record is read in one pass over its bytes. The scanner (scan.go) checks the whole of it against RFC 8259, also what
// nobody declared, and notes where the declared fields are; numbers are taken apart on the way (package numtext). Only
// then the fields are converted (convert.go), in the order in which their faults count: table, time, columns as
// declared. So the verdict does not depend on the order of the members.
//
// Invariants:
//   - A value is stored exactly, or the record is refused; the exceptions are float64, which takes the nearest double,
//     and times, which are cut to milliseconds towards the past.
//   - A refused record leaves nothing behind in the batch.
//   - An accepted record allocates nothing once the batch has room. Time is linear in the bytes, and the stack is not
//     used for what a record nests.
//
// Producers write the members of their records in one order. The decoder remembers the bytes of the key at each place
// of the record before and compares them first; only where that fails a key is parsed and looked up.
//
// Decisions beyond the rules of the records in testdata:
//   - A path that leads through something that is no object (or array) leads to nothing: the column is null.
//   - A string with half a surrogate pair in a declared field is invalid_unicode in that field's place, also below a
//     json column; elsewhere it is grammar and passes.
//   - A decimal takes what an int64 takes, and fractions up to its scale; more digits after the point than the scale
//     are out_of_range (not_integral if the scale is 0). A timestamp column takes what the event time takes.
//   - An event time in another unit than milliseconds must be integral in that unit.
//   - With a computed table name the columns are read before it, since it needs them.
//
// Start reading at Schema, then Decoder.Append.
package decode
