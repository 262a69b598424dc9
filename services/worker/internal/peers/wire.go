package peers

import (
	"strconv"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/dispatch"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/problem"
)

// CreditsDoc is a credit message in the form of the API.
func CreditsDoc(m dispatch.CreditMessage) common.Credits {
	out := common.Credits{From: placeDoc(m.From), To: string(m.To), Seq: common.Int64(m.Seq), Entries: make([]common.CreditEntry, len(m.Entries))}
	for i, e := range m.Entries {
		out.Entries[i] = common.CreditEntry{
			StreamID: common.Int64(e.Stream), Stage: common.Int64(e.Stage), Upstream: e.Upstream.String(), Downstream: e.Task.String(),
			Consumed: common.Int64(e.Consumed), Notice: string(e.Notice), Question: common.Int64(e.Question), Watermark: common.Int64(e.Watermark),
		}
	}
	return out
}

// ReadCredits is the inverse of CreditsDoc. An error names every member that cannot be read.
func ReadCredits(doc common.Credits) (dispatch.CreditMessage, error) {
	var in reader
	out := dispatch.CreditMessage{From: in.place("/from", doc.From), To: ident.NodeID(doc.To), Seq: uint64(doc.Seq)}
	for i, e := range doc.Entries {
		at := "/entries/" + strconv.Itoa(i)
		out.Entries = append(out.Entries, dispatch.CreditEntry{
			Stream: ident.StreamID(e.StreamID), Stage: ident.Stage(e.Stage), Upstream: in.task(at+"/upstream", e.Upstream), Task: in.task(at+"/downstream", e.Downstream),
			Consumed: ident.MsgID(e.Consumed), Notice: dispatch.NoticeKind(e.Notice), Question: int64(e.Question), Watermark: ident.EventMs(e.Watermark),
		})
	}
	return out, in.Err()
}

// CheckDoc is a handshake call in the form of the API.
func CheckDoc(c dispatch.Check) common.Handshake {
	out := common.Handshake{
		From: placeDoc(c.From), To: placeDoc(c.To), StreamID: common.Int64(c.Stream), Stage: common.Int64(c.Stage), Pairs: make([]common.TaskPair, len(c.Pairs)),
	}
	for i, p := range c.Pairs {
		out.Pairs[i] = common.TaskPair{Upstream: p.Upstream.String(), Downstream: p.Downstream.String()}
	}
	return out
}

// ReadCheck is the inverse of CheckDoc.
func ReadCheck(doc common.Handshake) (dispatch.Check, error) {
	var in reader
	out := dispatch.Check{Stream: ident.StreamID(doc.StreamID), Stage: ident.Stage(doc.Stage), From: in.place("/from", doc.From), To: in.place("/to", doc.To)}
	for i, p := range doc.Pairs {
		at := "/pairs/" + strconv.Itoa(i)
		out.Pairs = append(out.Pairs, dispatch.Pair{Upstream: in.task(at+"/upstream", p.Upstream), Downstream: in.task(at+"/downstream", p.Downstream)})
	}
	return out, in.Err()
}

// CheckAnswerDoc is the answer to a handshake call in the form of the API.
func CheckAnswerDoc(a dispatch.CheckAnswer) common.HandshakeAnswer {
	return common.HandshakeAnswer{From: placeDoc(a.From), StreamID: common.Int64(a.Stream), Stage: common.Int64(a.Stage), Answer: string(a.Verdict)}
}

// ReadCheckAnswer is the inverse of CheckAnswerDoc.
func ReadCheckAnswer(doc common.HandshakeAnswer) (dispatch.CheckAnswer, error) {
	var in reader
	out := dispatch.CheckAnswer{
		Stream: ident.StreamID(doc.StreamID), Stage: ident.Stage(doc.Stage), From: in.place("/from", doc.From), Verdict: dispatch.Verdict(doc.Answer),
	}
	return out, in.Err()
}

func placeDoc(p ident.Place) common.Place {
	return common.Place{Node: string(p.Node), Instance: p.Instance.String()}
}

// reader reads the text forms of identifiers and gathers what is wrong with them.
type reader struct{ invalid.Collector }

func (r *reader) place(pointer string, p common.Place) ident.Place {
	instance, err := ident.ParseInstance(p.Instance)
	r.check(pointer+"/instance", err)
	return ident.Place{Node: ident.NodeID(p.Node), Instance: instance}
}

func (r *reader) task(pointer, text string) ident.Task {
	t, err := ident.ParseTask(text)
	r.check(pointer, err)
	return t
}

func (r *reader) check(pointer string, err error) {
	if err != nil {
		r.Addf(string(problem.CodeInvalidFormat), pointer, "%v", err)
	}
}
