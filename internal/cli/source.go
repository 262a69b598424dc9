package cli

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/spec"
)

func (a *app) source() *cobra.Command {
	cmd := &cobra.Command{
		Use: "source", Short: "Sources: where records come from",
		Long:    "A source is a Kafka topic, or an HTTP endpoint that writes one, with the way its records are read.",
		Example: "  pondage source apply -f examples/flights/source.yaml\n  pondage source list",
	}
	cmd.AddCommand(a.apply("source"), a.sourceList(), a.sourceGet(), a.sourceDelete())
	return cmd
}

func (a *app) sourceList() *cobra.Command {
	return asking(&cobra.Command{
		Use: "list", Short: "List the sources", Example: "  pondage source list\n  pondage source list -o json",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, _ []string) error {
		items, err := client.Pages(0, func(size *int32, cursor *string) (*http.Response, error) {
			return c.ListSources(cmd.Context(), &api.ListSourcesParams{Limit: size, Cursor: cursor})
		})
		if err != nil {
			return err
		}
		return a.show(f, items.JSON(), func() error { return a.sourceTable(items) })
	})
}

func (a *app) sourceTable(items client.Items) error {
	sources, err := client.As[api.Source](items)
	if err != nil {
		return err
	}
	g := render.Grid{Columns: []string{"name", "topic", "format", "table", "columns", "updated"}}
	for _, s := range sources {
		src, err := spec.ParseSource(s.Spec)
		if err != nil { // made by a newer version
			g.Add(s.Name, "", "", "", "", moment(&s.UpdatedAt))
			continue
		}
		g.Add(s.Name, topicOf(src), string(src.Format), string(src.Table), fmt.Sprint(len(src.Columns)), moment(&s.UpdatedAt))
	}
	return a.grid(g)
}

// topicOf is the topic of a source, "(ingest)" where it is Pondage's own.
func topicOf(src *spec.Source) string {
	if src.Kafka == nil {
		return "(ingest)"
	}
	return src.Kafka.Topic
}

func (a *app) sourceGet() *cobra.Command {
	return asking(&cobra.Command{
		Use: "get NAME", Short: "Show a source", Args: cobra.ExactArgs(1), Example: "  pondage source get flights\n  pondage source get flights -o yaml",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		s, raw, err := client.Decode[api.Source](c.GetSource(cmd.Context(), args[0]))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			g := render.Grid{}
			g.Add("name", s.Name)
			g.Add("streams", orDash(strings.Join(s.Streams, ", ")))
			g.Add("created", moment(&s.CreatedAt))
			g.Add("updated", moment(&s.UpdatedAt))
			if err := a.grid(g); err != nil {
				return err
			}
			return a.section("spec", s.Spec)
		})
	})
}

// section writes a heading and a value as YAML under it.
func (a *app) section(heading string, raw []byte) error {
	fmt.Fprintf(a.Out, "\n%s:\n", heading)
	return render.Value(a.Out, render.YAML, raw)
}

func (a *app) sourceDelete() *cobra.Command {
	return asking(&cobra.Command{
		Use: "delete NAME…", Short: "Delete sources that no stream reads", Args: cobra.MinimumNArgs(1), Example: "  pondage source delete flights",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		return a.each(f, "source", "deleted", args, func(name string) error {
			_, _, err := client.Read(c.DeleteSource(cmd.Context(), name, &api.DeleteSourceParams{}))
			return err
		})
	})
}

// moment is a time as tables show it.
func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
