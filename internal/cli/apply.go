package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/cli/specfile"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/spec"
)

// What apply did to an object.
const (
	applied   = "created"
	replaced  = "replaced"
	unchanged = "unchanged"
)

// apply is one command under two names: a file holds what belongs together.
func (a *app) apply(kind string) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use: "apply -f FILE…", Short: "Create what files declare; replace sources that differ",
		Long: `Creates the sources and streams of files, folders (-f DIR: all its .yaml, .yml and .json files) and standard input
(-f -); a file may hold several YAML documents. Sources come first, whatever their order.

It may be repeated: what is there already is left as it is. A source that differs is replaced, for the streams made from
then on; a stream that differs is refused, because results of two queries would meet in one place: delete it first.
Before anything is created all files are read, and everything wrong with them is told with file, line and column.`,
		Example: fmt.Sprintf("  pondage %s apply -f examples/flights/\n  pondage %s apply -f a.yaml -f b.yaml -o json\n  cat spec.yaml | pondage %s apply -f -", kind, kind, kind),
	}
	cmd.Flags().StringSliceVarP(&files, "file", "f", nil, "file or folder with specs, - for standard input; may be repeated")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, _ []string) error {
		if len(files) == 0 {
			return usage("say what to apply: -f FILE")
		}
		objects, err := specfile.Read(files, a.In)
		if err != nil {
			return err
		}
		if len(objects) == 0 {
			return errors.New("the files declare nothing")
		}
		slices.SortStableFunc(objects, func(x, y specfile.Object) int { return rank(x) - rank(y) })
		var errs []error
		for _, o := range objects {
			errs = append(errs, a.applyOne(cmd.Context(), c, f, o))
		}
		return errors.Join(errs...)
	})
}

// rank sorts sources before the streams that read them.
func rank(o specfile.Object) int {
	if o.ObjectKind() == spec.KindSource {
		return 0
	}
	return 1
}

func (a *app) applyOne(ctx context.Context, c *client.Client, f render.Format, o specfile.Object) error {
	do := applyStream
	if o.ObjectKind() == spec.KindSource {
		do = applySource
	}
	done, err := do(ctx, c, o)
	var answered *client.Error
	if errors.As(err, &answered) && answered.Cause == nil {
		return o.Blame(answered.Doc)
	}
	if err != nil {
		return err
	}
	return a.report(f, outcome{Kind: string(o.ObjectKind()), Name: o.ObjectName(), Outcome: done})
}

func applySource(ctx context.Context, c *client.Client, o specfile.Object) (string, error) {
	_, _, err := client.Read(c.CreateSource(ctx, &api.CreateSourceParams{}, o.Canonical()))
	if !client.HasCode(err, problem.CodeSourceExists) {
		return applied, err
	}
	raw, header, err := client.Read(c.GetSource(ctx, o.ObjectName()))
	if err != nil {
		return "", err
	}
	there, err := specOf(raw, func(text []byte) (spec.Object, error) { return spec.ParseSource(text) })
	if err != nil || bytes.Equal(there, o.Canonical()) {
		return unchanged, err
	}
	tag := header.Get("ETag") // somebody else's change since then is not overwritten
	_, _, err = client.Read(c.PutSource(ctx, o.ObjectName(), &api.PutSourceParams{IfMatch: &tag}, o.Canonical()))
	return replaced, err
}

func applyStream(ctx context.Context, c *client.Client, o specfile.Object) (string, error) {
	_, _, err := client.Read(c.CreateStream(ctx, &api.CreateStreamParams{}, o.Canonical()))
	if !client.HasCode(err, problem.CodeStreamExists) {
		return applied, err
	}
	raw, _, failed := client.Read(c.GetStream(ctx, o.ObjectName()))
	if failed != nil {
		return "", failed
	}
	there, failed := specOf(raw, func(text []byte) (spec.Object, error) { return spec.ParseStream(text) })
	if failed != nil || bytes.Equal(there, o.Canonical()) {
		return unchanged, failed
	}
	var exists *client.Error
	errors.As(err, &exists)
	exists.Doc.Detail = fmt.Sprintf("there is a stream %s with another spec", o.ObjectName())
	exists.Doc.Hint = fmt.Sprintf("delete it first (pondage stream delete %s), or give this one another name; pondage stream get %s -o yaml shows it", o.ObjectName(), o.ObjectName())
	return "", exists
}

// specOf is the canonical form of the spec within an answer: another spelling is the same spec.
func specOf(answer []byte, parse func([]byte) (spec.Object, error)) ([]byte, error) {
	var resource struct {
		Spec json.RawMessage `json:"spec"`
	}
	if err := json.Unmarshal(answer, &resource); err != nil {
		return nil, err
	}
	o, err := parse(resource.Spec)
	if err != nil {
		return nil, fmt.Errorf("what is there cannot be understood by this version: %w", err)
	}
	return o.Canonical(), nil
}
