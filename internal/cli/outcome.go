package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pondage/pondage/internal/cli/render"
)

// outcome is what became of one object.
type outcome struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
	Note    string `json:"note,omitempty"`
}

// report tells what became of an object, at once: a line a piece.
func (a *app) report(f render.Format, o outcome) error {
	if f == render.Table {
		line := fmt.Sprintf("%s %s %s", o.Kind, render.Clean(o.Name), o.Outcome)
		if o.Note != "" {
			line += ": " + render.Clean(o.Note)
		}
		_, err := fmt.Fprintln(a.Out, line)
		return err
	}
	raw, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if f == render.YAML {
		fmt.Fprintln(a.Out, "---") // a document a piece
	}
	return render.Value(a.Out, f, raw)
}

// each does something to every name and goes on after a failure, so that one name does not keep the others.
func (a *app) each(f render.Format, kind, done string, names []string, do func(name string) error) error {
	var errs []error
	for _, name := range names {
		err := do(name)
		if err == nil {
			err = a.report(f, outcome{Kind: kind, Name: name, Outcome: done})
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
