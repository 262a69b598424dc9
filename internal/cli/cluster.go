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
)

func (a *app) nodes() *cobra.Command {
	return asking(&cobra.Command{
		Use: "nodes", Short: "List the nodes: where they are, what they own, when they were heard last", Example: "  pondage nodes",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, _ []string) error {
		page, raw, err := client.Decode[api.NodePage](c.ListNodes(cmd.Context()))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			g := render.Grid{Columns: []string{"node", "address", "state", "vgroups", "tasks", "silent", "instance", "version"}}
			for _, n := range page.Items {
				silent := "-"
				if n.SilentMs != nil {
					silent = (time.Duration(*n.SilentMs) * time.Millisecond).String()
				}
				vgroups := strings.Trim(strings.ReplaceAll(fmt.Sprint(n.Vgroups), " ", ","), "[]")
				g.Add(n.Node, n.Address, n.State, orDash(vgroups), fmt.Sprint(n.Tasks), silent, n.Instance, n.Version)
			}
			return a.grid(g)
		})
	})
}

func (a *app) events() *cobra.Command {
	limit, stream := listLimit, ""
	cmd := &cobra.Command{
		Use: "events", Short: "Show what happened, newest first", Example: "  pondage events\n  pondage events --stream flights_1h --limit 10",
	}
	cmd.Flags().IntVar(&limit, "limit", limit, "most events; 0 is all")
	cmd.Flags().StringVar(&stream, "stream", "", "only events of this stream")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, _ []string) error {
		items, err := client.Pages(limit, func(size *int32, cursor *string) (*http.Response, error) {
			params := &api.ListEventsParams{Limit: size, Cursor: cursor}
			if stream != "" {
				params.Stream = &stream
			}
			return c.ListEvents(cmd.Context(), params)
		})
		if err != nil {
			return err
		}
		return a.show(f, items.JSON(), func() error { return a.eventTable(items) })
	})
}

func (a *app) eventTable(items client.Items) error {
	events, err := client.As[api.Event](items)
	if err != nil {
		return err
	}
	g := render.Grid{Columns: []string{"time", "severity", "stream", "node", "code", "message"}}
	for _, e := range events {
		g.Add(moment(&e.Time), e.Severity, orNothing(e.Stream), orNothing(e.Node), e.Code, e.Message)
	}
	return a.grid(g)
}
