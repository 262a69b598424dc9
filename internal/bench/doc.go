// Package bench measures Pondage on the queries of its peers: JSON telemetry in a Kafka topic, windowed aggregates into
// another one or a table, and every result compared with a batch computation (INTERFACE §4, `pondage bench`).
//
// It owns: the records (the peers' own, byte for byte), the two queries, what is measured and how, the comparison. It does
// not own: anything of Pondage; it is driven through its API like any user's.
//
// Three processes take part, so that nothing but Pondage is measured:
//
//	driver    `bench QUERY`     writes the topic, starts the others, compares the results, prints a line a run
//	measured  `bench measure`   coordinator and node in one process, beside it the private Postgres; runs the stream
//	broker    `broker`          the embedded one, unless --kafka names another
//
// The measured process reports a run on its standard output and waits for a line on its standard input before it begins
// the next, so that the driver's comparison runs while nothing is measured.
//
// What is measured. CPU is that of the measured process and of all processes below it: user and system time, all threads.
// Wall and CPU of a cold run count from the start of the process, of a warm run from the creation of its stream; both end
// when the stream is finished, which is when every result is acknowledged. The steady span lasts from the first record
// that a source task has processed to the last, looked at every few milliseconds. Memory is the measured process's VmHWM.
//
// Latency (latency.go): the driver writes records while the stream runs (generator.go), knows from their acknowledgements
// when the watermark allows a window, and reads the output beside it (reader.go). Checkpoints are counted from the API.
//
// Start reading at driver.go, then measure.go. command.go offers Command, which the CLI adds to its root; the root must
// offer `broker --listen --data-dir` beside it.
package bench
