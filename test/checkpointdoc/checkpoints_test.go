// Package checkpointdoc holds docs/checkpoints.md against the core that it describes.
package checkpointdoc

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pondage/pondage/internal/align"
	"github.com/pondage/pondage/internal/ident"
)

// block is a list of effects in the document: ```align NAME.
var block = regexp.MustCompile("(?ms)^```align ([a-z-]+)\n(.*?)^```$")

func documented(t *testing.T) map[string]string {
	t.Helper()
	doc, err := os.ReadFile("../../docs/checkpoints.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range block.FindAllStringSubmatch(string(doc), -1) {
		out[m[1]] = m[2]
	}
	return out
}

// name is an effect in the document's words.
func name(f align.Effect) string {
	switch f := f.(type) {
	case align.Taken:
		return "taken"
	case align.Enter:
		return "enter " + string(f.Event)
	case align.Flush:
		return "flush"
	case align.Freeze:
		return "freeze"
	case align.Forward:
		return "forward"
	case align.Write:
		return "write"
	case align.OpenInputs:
		return "open-inputs"
	case align.Report:
		if f.Failure != nil {
			return "report failed"
		}
		return "report"
	case align.Commit:
		return "commit"
	case align.Settle:
		return "settle"
	}
	return "?"
}

func step(t *testing.T, c *align.Core, e align.Event) string {
	t.Helper()
	effects, err := c.Step(e)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for _, f := range effects {
		out.WriteString(name(f) + "\n")
	}
	return out.String()
}

func TestTheDocumentSaysWhatTasksDo(t *testing.T) {
	t.Parallel()
	const (
		id       ident.CheckpointID = 7
		tx       ident.TxID         = 70
		now      ident.MonoMs       = 1_000
		deadline ident.MonoMs       = 61_000
	)
	up := ident.Task{Level: ident.LevelSource, VGroup: 0}
	got := map[string]string{}

	source := align.New(align.Config{Stage: 1})
	got["source"] = step(t, source, align.Requested{Stage: 1, Checkpoint: id, Tx: tx, Deadline: deadline, Now: now})
	got["written"] = step(t, source, align.Written{Checkpoint: id, Now: now})

	receiver := align.New(align.Config{Stage: 1, Upstreams: []ident.Task{up}})
	began := align.Began{Checkpoint: id, Tx: tx, Deadline: deadline, Now: now}
	got["first-trigger"] = step(t, receiver, began)
	step(t, receiver, align.TriggerIn{From: up, Checkpoint: id})
	got["all-in"] = step(t, receiver, align.AllIn{Checkpoint: id})
	step(t, receiver, align.Written{Checkpoint: id, Now: now})
	got["complete"] = step(t, receiver, align.Settled{Stage: 1, Complete: id, Settled: id, Now: now})

	late := align.New(align.Config{Stage: 1, Upstreams: []ident.Task{up}})
	step(t, late, began)
	got["timeout"] = step(t, late, align.Tick{Now: deadline})

	if diff := cmp.Diff(documented(t), got); diff != "" {
		t.Errorf("docs/checkpoints.md (-document +core)\n%s", diff)
	}
}
