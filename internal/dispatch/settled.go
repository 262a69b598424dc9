package dispatch

// Settled tells whether everything that was handed over is delivered: nothing waits for credit or for an answer.
func (s *Sender) Settled() bool {
	for _, d := range s.entries {
		if len(d.waiting) > 0 || d.hasWord || len(d.queue) > 0 {
			return false
		}
	}
	return true
}
