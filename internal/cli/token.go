package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

func (a *app) token() *cobra.Command {
	cmd := &cobra.Command{
		Use: "token", Short: "API tokens: who may call",
		Long: `A token is shown once, when it is made; Pondage keeps only a hash of it. Roles: viewer reads, editor also changes sources
and streams and sends records, admin also makes tokens. A command shows a token with --token env:NAME or file:PATH, or
with the variable PONDAGE_TOKEN of that form.`,
		Example: "  pondage token create grafana --role viewer\n  PONDAGE_TOKEN=file:admin.token pondage token list",
	}
	cmd.AddCommand(a.tokenCreate(), a.tokenList(), a.tokenDelete())
	return cmd
}

func (a *app) tokenCreate() *cobra.Command {
	role := string(api.Viewer)
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a token and show it, this once", Args: cobra.ExactArgs(1),
		Example: "  pondage token create loader --role editor > loader.token",
	}
	cmd.Flags().StringVar(&role, "role", role, "viewer, editor or admin")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		want := api.TokenRequestRole(role)
		if !want.Valid() {
			return usage("--role %s: want viewer, editor or admin", role)
		}
		token, raw, err := client.Decode[api.NewToken](c.CreateToken(cmd.Context(), &api.CreateTokenParams{}, api.TokenRequest{Name: args[0], Role: want}))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			fmt.Fprintf(a.Err, "token %s, role %s; it is not shown again:\n", token.Name, token.Role)
			_, err := fmt.Fprintln(a.Out, token.Token)
			return err
		})
	})
}

func (a *app) tokenList() *cobra.Command {
	return asking(&cobra.Command{
		Use: "list", Short: "List the tokens, without their texts", Example: "  pondage token list",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, _ []string) error {
		page, raw, err := client.Decode[api.TokenPage](c.ListTokens(cmd.Context()))
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			g := render.Grid{Columns: []string{"name", "role", "created"}}
			for _, t := range page.Items {
				g.Add(t.Name, t.Role, moment(&t.CreatedAt))
			}
			return a.grid(g)
		})
	})
}

func (a *app) tokenDelete() *cobra.Command {
	return asking(&cobra.Command{
		Use: "delete NAME…", Short: "Delete tokens", Args: cobra.MinimumNArgs(1), Example: "  pondage token delete loader",
	}, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		return a.each(f, "token", "deleted", args, func(name string) error {
			_, _, err := client.Read(c.DeleteToken(cmd.Context(), name))
			return err
		})
	})
}
