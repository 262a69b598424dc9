package dispatch

import "github.com/pondage/pondage/internal/ident"

// EntryInfo is what heartbeats and explain show of a sender's destination.
type EntryInfo struct {
	Peer       Peer
	Sent       ident.MsgID // the last number given
	Answered   ident.MsgID // the contiguous prefix that is appended
	Consumed   ident.MsgID // by the receiver
	Unconsumed int         // bytes after Consumed
	Waiting    int         // messages of the open flush without credit
	Retries    int         // of the request under way
	Status     string      // quiet, sent, failed or blocked
	Silent     bool        // no word from its node for CreditSilence
}

var statusNames = [...]string{statusQuiet: "quiet", statusSent: "sent", statusFailed: "failed", statusBlocked: "blocked"}

// Entries returns the destinations in the order of the configuration.
func (s *Sender) Entries() []EntryInfo {
	infos := make([]EntryInfo, 0, len(s.entries))
	for _, d := range s.entries {
		info := EntryInfo{
			Peer: d.peer, Sent: d.sentID, Answered: d.answered, Consumed: d.consumed, Unconsumed: d.unconsumed,
			Waiting: len(d.waiting), Status: statusNames[d.status], Silent: d.life.silent,
		}
		if d.inFlight > 0 {
			info.Retries = d.attempt - 1
		}
		infos = append(infos, info)
	}
	return infos
}
