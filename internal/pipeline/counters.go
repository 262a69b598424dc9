package pipeline

// Counters count the records of a source partition by what became of them (I3): accepted is the sum.
type Counters struct {
	Counted, Filtered, NoWindow, Late, DeadLettered int64
}

// Accepted is the number of records taken from the partition: each is in exactly one of the counters.
func (c Counters) Accepted() int64 {
	return c.Counted + c.Filtered + c.NoWindow + c.Late + c.DeadLettered
}
