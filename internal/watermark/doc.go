// Package watermark holds event-time progress: of a source task (Source), row by row and per partition, and of a
// downstream task (Merge), over its upstreams (DESIGN §6, and the late rows of §8).
//
// It owns: W_p, floors, idleness and its questions, bounds, the limit that decides whether a row is late, table clocks,
// the minimum over upstreams, the closing by silence, and which destination is told what and when. It does not own: max_future
// and min_time (package decode), the names and ends of windows (package window), msg ids and credit (package dispatch: a
// watermark that meets waiting rows rides on them there), Kafka and the clock.
//
// Invariants: a watermark and a floor never fall; a watermark never passes a row that was observed and not yet flushed;
// a partition or upstream that is idle or finished never holds the minimum, one that has not spoken always does; a row's
// limit depends on the rows before it in its partition and on the floor, never on batch cuts or other partitions.
//
// # Order of effects
//
// Effects are obeyed in the order returned, each before the next, and before the next event. Wait comes before the
// questions (Say) that it waits for. Stamp is the first effect of a Flush: the rows of the flush are stamped and handed to
// dispatch before any Say, so that a watermark never overtakes the rows before it. Advance comes before the Stamp of the
// same step: what closes goes out with the flush. An Answer is given after the Advance that its block caused. Finished is
// the last effect ever.
//
// # A source task's loop
//
//	src := watermark.NewSource(cfg)
//	src.Step(watermark.Added{Partition: p, Next: from, Until: watermark.Until(end), Now: now()})
//	…
//	case chunk := <-inbox:
//		obey(src.Step(watermark.Fetched{Partition: p, Records: n, Lag: lag, Now: now()})) // a Wait keeps the chunk until Go
//		src.Track(p).Observe(ts, tables, openFrom)        // late: LastEnd(ts) < openFrom; windows that end before it are closed
//		obey(src.Step(watermark.Processed{Partition: p, Next: chunk.Next}))
//		if !chunk.Filled { // pre-aggregation is emptied into blocks
//			obey(src.Step(watermark.Flush{Data: tasksWithRows, Now: now()}))
//		}
//	case <-ticker: // TickEvery
//		obey(src.Step(watermark.Tick{Now: now()}))
//	case a := <-answers: // from the credits
//		obey(src.Step(watermark.Answered{…}))
//
// An empty answer of the broker is a Fetched with 0 records: without it a partition never becomes idle.
//
// # A downstream task's loop
//
//	rows are merged first, then: obey(m.Step(watermark.Heard{From: h.Upstream, Watermark: h.Watermark, Idle: h.Idle,
//		Question: watermark.Question(h.Related), Rows: n, Now: now()}))
//	and a Tick every TickEvery.
//
// Decisions: filtered rows move watermark and table clocks like others; a late row moves its table's clock too; a table
// far enough behind is a new table (tableClocks); the first row of a table is ahead of it, as the window vectors want it
// (DESIGN §8 would judge it by the window); a partition found while running holds the minimum for at most the idle
// timeout, one found while the task is idle comes back by a question; an open transaction is lag, so its partition holds
// the watermark, and Explain names it (trap T27); silence counts from the last rows or active word heard, but for
// an upstream's first word in a stage, which says that it is here.
//
// Start reading at Source.Step, tracker.go and Merge.Step. Scripts: testdata/.
package watermark
