package demo

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
)

// samples prints a few results of each stream, as anybody would ask for them.
func (d *demo) samples(ctx context.Context) error {
	for _, e := range d.examples {
		limit := int32(sampleRows)
		page, _, err := client.Decode[struct {
			Items []map[string]any `json:"items"`
		}](d.api.GetResults(ctx, e.name, &coordinator.GetResultsParams{Order: &e.order, Limit: &limit}))
		if err != nil {
			return fmt.Errorf("results of %s: %w", e.name, err)
		}
		fmt.Fprintf(d.out, "\n%s: %s\n", e.name, e.says)
		w := tabwriter.NewWriter(d.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "  "+strings.Join(e.show, "\t"))
		for _, row := range page.Items {
			cells := make([]string, len(e.show))
			for i, name := range e.show {
				cells[i] = fmt.Sprint(row[name])
			}
			fmt.Fprintln(w, "  "+strings.Join(cells, "\t"))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	fmt.Fprintln(d.out)
	return nil
}

// explain says how to look at a stack that is left up.
func (d *demo) explain() {
	fmt.Fprintf(d.out, `
The stack is up until this command is interrupted (Ctrl-C):
  API       %[1]s        documents at %[1]s/docs
  Kafka     %[2]s
  Postgres  %[3]s

  curl -sL '%[1]s/v1/streams/flights_1h/results?order=count%%20desc&limit=5'
  psql '%[3]s' -c 'SELECT * FROM flights_1h ORDER BY count DESC LIMIT 5'
  PONDAGE_API=%[1]s pondage tail flights_1h
`, d.stack.URL(), strings.Join(d.stack.Brokers(), ","), d.stack.DSN())
}

// cause says why a stream has failed.
func cause(s coordinator.Stream) string {
	if s.Error == nil {
		return "no cause is known"
	}
	return fmt.Sprintf("%s (%s)", s.Error.Message, s.Error.Code)
}
