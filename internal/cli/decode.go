package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/decode"
	"github.com/pondage/pondage/internal/decode/check"
	"github.com/pondage/pondage/internal/plan"
	"github.com/pondage/pondage/internal/spec"
)

func (a *app) decode() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use: "decode --source SPEC < RECORDS", Short: "Show what a source makes of records: rows or dead letters",
		Long: `Reads records from standard input, one a line (LF only, of any length), and writes one JSON object for each:
{line, verdict, row} for one that is accepted, {line, verdict, code, field, reason} for one that is not. SPEC is a source
spec, YAML or JSON, or a file of expectations (decode-check) that has one in its member "source". Nothing has to run.`,
		Example: "  pondage decode --source examples/flights/source.yaml < records.ndjson\n  head -1 records.ndjson | pondage decode --source source.yaml",
	}
	cmd.Flags().StringVar(&source, "source", "", "file with the source")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := output(cmd)
		if err != nil {
			return err
		}
		if source == "" {
			return usage("say how the records are read: --source SPEC")
		}
		d, err := decoderOf(source)
		if err != nil {
			return err
		}
		return a.decodeLines(f, d)
	}
	return cmd
}

// decodeLines writes what becomes of each line. A table would not hold rows of differing forms: it is lines too.
func (a *app) decodeLines(f render.Format, d *decode.Decoder) error {
	out := bufio.NewWriter(a.Out)
	lines, reader := decode.NewLines(a.In), check.NewReader(d)
	var text []byte
	for {
		record, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return fmt.Errorf("read records: %w", err)
		}
		text = reader.AppendLine(text[:0], record)
		if f == render.YAML {
			fmt.Fprintln(out, "---") // a document a record
			err = render.Value(out, f, text)
		} else {
			_, err = out.Write(append(text, '\n'))
		}
		if err != nil {
			return err
		}
	}
}

// decoderOf makes the decoder of a source in a file: a spec, or a file of expectations with one inside.
func decoderOf(file string) (*decode.Decoder, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var around struct {
		Source json.RawMessage `json:"source"`
	}
	if json.Unmarshal(text, &around) == nil && len(around.Source) > 0 {
		text = around.Source
	}
	d, err := newDecoder(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return d, nil
}

func newDecoder(text []byte) (*decode.Decoder, error) {
	src, err := spec.ParseRecordFormat(text)
	if err != nil {
		return nil, err
	}
	in, err := plan.BuildInput(src)
	if err != nil {
		return nil, err
	}
	return in.NewDecoder(src)
}

func (a *app) decodeCheck() *cobra.Command {
	var records, expected, generated string
	cmd := &cobra.Command{
		Use: "decode-check --records FILE --expected FILE", Short: "Compare the decoder with a file of expectations",
		Long: `Decodes the records and compares each with its case: verdict, code (the case's code or one of "also"), field where one is
given, and the row. The last line is "N passed, N failed"; the exit status is 1 when a case fails.`,
		Example: "  pondage decode-check --records bad-records.ndjson --expected bad-records.expected.json\n  make decode-check RECORDS=… EXPECTED=… GENERATED=…",
	}
	cmd.Flags().StringVar(&records, "records", "", "file with records, one a line")
	cmd.Flags().StringVar(&expected, "expected", "", "file with what should become of them")
	cmd.Flags().StringVar(&generated, "generated", "", "folder with the records of its generated cases, NAME.json each")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := output(cmd)
		if err != nil {
			return err
		}
		if records == "" || expected == "" {
			return usage("name both files: --records FILE --expected FILE")
		}
		report, err := runCheck(records, expected, generated)
		if err != nil {
			return err
		}
		return a.checked(f, report)
	}
	return cmd
}

func runCheck(records, expected, generated string) (*check.Report, error) {
	text, err := os.ReadFile(expected)
	if err != nil {
		return nil, err
	}
	sidecar, err := check.ParseSidecar(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", expected, err)
	}
	d, err := newDecoder(sidecar.Source)
	if err != nil {
		return nil, fmt.Errorf("%s: source: %w", expected, err)
	}
	in, err := os.Open(records)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	var folder fs.FS
	if generated != "" {
		folder = os.DirFS(generated)
	}
	return check.Run(d, sidecar, in, folder)
}

// errCheckFailed is the outcome of a comparison that found differences; they have been shown.
var errCheckFailed = errors.New("not all cases passed")

func (a *app) checked(f render.Format, report *check.Report) error {
	failures := make([]string, len(report.Failures))
	for i, failure := range report.Failures {
		failures[i] = failure.String()
	}
	raw, err := json.Marshal(struct {
		Passed   int      `json:"passed"`
		Failed   int      `json:"failed"`
		Failures []string `json:"failures"`
	}{report.Passed, len(failures), failures})
	if err != nil {
		return err
	}
	err = a.show(f, raw, func() error {
		for _, failure := range failures {
			fmt.Fprintln(a.Out, render.Clean(failure))
		}
		_, err := fmt.Fprintln(a.Out, report.Summary())
		return err
	})
	if err == nil && len(failures) > 0 {
		err = errCheckFailed
	}
	return err
}
