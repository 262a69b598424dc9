package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/ingest"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/cli/specfile"
	"github.com/pondage/pondage/internal/problem"
)

func (a *app) validate() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "validate 'STATEMENT' | validate -f FILE", Short: "Check a spec or statement without creating anything", Args: cobra.MaximumNArgs(1),
		Long: `Checks specs (files, YAML or JSON) or a statement (SQL) against the sources that exist, and shows the plan. The exit status
is 1 when something is wrong; each fault comes with its place and what to do.`,
		Example: "  pondage validate -f examples/flights/flights_1h.yaml\n  pondage validate 'SELECT tbname, avg(delay) FROM flights PARTITION BY tbname INTERVAL(1h)'\n  pondage validate source sample.ndjson",
	}
	cmd.Flags().StringVarP(&file, "file", "f", "", "file or folder with specs, - for standard input")
	asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		if (file == "") == (len(args) == 0) {
			return usage("give either a statement or -f FILE")
		}
		if file != "" {
			return a.validateFile(cmd, c, f, file)
		}
		s := specfile.Statements("", args[0])
		if len(s) != 1 {
			return usage("give one statement")
		}
		return a.validateOne(cmd, c, f, api.ValidateRequest{SQL: &s[0].Text}, s[0])
	})
	cmd.AddCommand(a.validateSource())
	return cmd
}

func (a *app) validateFile(cmd *cobra.Command, c *client.Client, f render.Format, file string) error {
	objects, err := specfile.Read([]string{file}, a.In)
	if err != nil {
		return err
	}
	var errs []error
	for _, o := range objects {
		body, err := withKind(o)
		if err == nil {
			err = a.validateOne(cmd, c, f, api.ValidateRequest{Spec: body}, o)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// withKind is the object with its member kind, which tells what is to be checked.
func withKind(o specfile.Object) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(o.Canonical(), &members); err != nil {
		return nil, err
	}
	kind, err := json.Marshal(o.ObjectKind())
	if err != nil {
		return nil, err
	}
	members["kind"] = kind
	return json.Marshal(members)
}

// blamed is what knows where in a file the places of a problem are.
type blamed interface{ Blame(problem.Document) error }

// validateOne has one thing checked. What is wrong with it is an error, with places in the file.
func (a *app) validateOne(cmd *cobra.Command, c *client.Client, f render.Format, body api.ValidateRequest, at blamed) error {
	v, raw, err := client.Decode[api.Validation](c.Validate(cmd.Context(), &api.ValidateParams{}, body))
	var answered *client.Error
	if errors.As(err, &answered) && answered.Cause == nil {
		return at.Blame(answered.Doc)
	}
	if err != nil {
		return err
	}
	if !v.Valid {
		return at.Blame(faultsDocument(v.Errors))
	}
	return a.show(f, raw, func() error {
		fmt.Fprintln(a.Out, "valid")
		if v.Plan != nil {
			fmt.Fprintf(a.Out, "\n%s\n", strings.TrimRight(*v.Plan, "\n"))
		}
		if len(v.Schema) == 0 {
			return nil
		}
		fmt.Fprintln(a.Out)
		return a.grid(columns(api.Output{Schema: v.Schema}))
	})
}

// faultsDocument is the problem that faults amount to.
func faultsDocument(faults []common.Fault) problem.Document {
	doc := problem.Document{Type: "about:blank", Title: "The input is not valid", Code: problem.CodeInvalidInput, Detail: "the input is not valid"}
	for _, f := range faults {
		one := problem.Fault{Code: problem.Code(f.Code), Pointer: f.Pointer, Detail: f.Detail, Hint: f.Hint}
		if f.Span != nil {
			one.Span = &problem.Span{Offset: f.Span.Offset, Length: f.Span.Length, Line: f.Span.Line, Column: f.Span.Column}
		}
		doc.Errors = append(doc.Errors, one)
	}
	return doc
}

// The bounds of what is sent of a sample. The API takes a million characters.
const (
	sampleBytes   = 900_000
	sampleRecords = 1000 // a column that is not in as many is found by its owner
)

// sample reads the first records of a file.
func (a *app) sample(path string) (string, error) {
	in, _, err := a.open(path)
	if err != nil {
		return "", err
	}
	defer in.Close()
	batches, err := ingest.NewBatches(in, sampleRecords)
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	first, err := batches.Next()
	if errors.Is(err, io.EOF) {
		return "", fmt.Errorf("%s: there are no records", path)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", path, err)
	}
	text := first.Body
	if len(text) > sampleBytes {
		whole := bytes.LastIndexByte(text[:sampleBytes], '\n') + 1
		if whole == 0 {
			return "", fmt.Errorf("%s: the first record alone is larger than %s", path, size(sampleBytes))
		}
		text = text[:whole]
	}
	return string(text), nil
}

func (a *app) validateSource() *cobra.Command {
	return asking(&cobra.Command{
		Use: "source SAMPLE|-", Short: "Infer a source from a sample of records, one a line", Args: cobra.ExactArgs(1),
		Long: `Proposes a source for records of a file (.gz too) or of standard input. The spec goes to standard output, ready for
"pondage source apply -f -"; what was guessed, and should be looked at, goes to standard error. Where the records do not tell the table or the event
time, the spec is shown without it, and the exit status is 1.`,
		Example: "  pondage validate source examples/flights/flights.ndjson.gz > source.yaml\n  head -100 records.ndjson | pondage validate source -",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		sample, err := a.sample(args[0])
		if err != nil {
			return err
		}
		v, raw, err := client.Decode[api.SourceValidation](c.ValidateSource(cmd.Context(), &api.ValidateSourceParams{}, api.ValidateSourceRequest{Sample: &sample}))
		if err != nil {
			return err
		}
		if f == render.JSON && v.Valid {
			return render.Value(a.Out, f, raw)
		}
		for _, note := range v.Notes {
			fmt.Fprintln(a.Err, "note: "+render.Clean(note))
		}
		var incomplete error // what the sample could not tell; the rest of the proposal is of use all the same
		if !v.Valid {
			incomplete = &client.Error{Doc: faultsDocument(v.Errors)}
		}
		if len(v.Spec) == 0 || f == render.JSON {
			return incomplete
		}
		return errors.Join(a.inferred(v.Spec), incomplete)
	})
}

// inferred writes a spec as a document that apply takes.
func (a *app) inferred(spec json.RawMessage) error {
	fmt.Fprintln(a.Out, "kind: source")
	return render.Value(a.Out, render.YAML, spec)
}
