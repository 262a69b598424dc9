package cli

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/render"
)

// The exit statuses (INTERFACE §4).
const (
	StatusDone   = 0
	StatusFailed = 1
	StatusUsage  = 2
)

// Run runs the command that args name and returns the exit status. The context ends when the process is asked to close.
// extra are the commands of other packages.
func Run(ctx context.Context, sh Shell, args []string, extra ...*cobra.Command) int {
	root := New(sh, extra...)
	root.SetArgs(args)
	executed, err := root.ExecuteContextC(ctx)
	if err == nil {
		return StatusDone
	}
	for _, doc := range documents(err, executed) {
		render.Problem(sh.Err, errorFormat(args), doc)
	}
	if isUsage(err) {
		return StatusUsage
	}
	return StatusFailed
}

// New returns the root of all commands. extra are the commands of other packages.
func New(sh Shell, extra ...*cobra.Command) *cobra.Command {
	a := &app{Shell: sh}
	root := &cobra.Command{
		Use:   "pondage",
		Short: "Continuous queries over time series, exactly once",
		Long: `Pondage runs continuous queries over time series: records arrive in Kafka or over HTTP, streams are declared in SQL,
YAML or JSON, and their results land in Postgres, in Kafka and live over HTTP.

Start with "pondage dev": everything in one process. The other commands then talk to it.`,
		Example: `  pondage dev                                  # a whole Pondage on this machine
  pondage source apply -f examples/flights/    # declare where records come from, and streams over them
  pondage ingest flights flights.ndjson.gz     # send records
  pondage results flights_1h                   # what came out
  pondage stream apply -h                      # how a command is used`,
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddGroup(
		&cobra.Group{ID: groupRole, Title: "Roles, each a process:"},
		&cobra.Group{ID: groupUse, Title: "Working with a running Pondage:"},
		&cobra.Group{ID: groupTool, Title: "Tools:"},
	)
	root.SetHelpCommandGroupID(groupTool)
	root.SetCompletionCommandGroupID(groupTool)
	root.PersistentFlags().StringP(outputFlag, "o", string(render.Table), "form of the output: "+render.List(render.Common))
	a.add(root, groupRole, roleCommands(a)...)
	a.add(root, groupUse, a.source(), a.stream(), a.checkpoint(), a.savepoint(), a.sql(), a.validate(), a.ingest(), a.results(), a.tail(), a.deadLetters(), a.late(),
		a.nodes(), a.events(), a.token(), a.topic(), a.doctor())
	a.add(root, groupTool, a.decode(), a.decodeCheck(), a.hash(), a.failpoints(), a.version())
	a.add(root, groupTool, extra...)
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	root.SetIn(sh.In)
	root.SetOut(sh.Out)
	root.SetErr(sh.Err)
	root.SetUsageTemplate(usageTemplate(root))
	strict(root)
	return root
}

// The groups of commands in the help.
const (
	groupRole = "role"
	groupUse  = "use"
	groupTool = "tool"
)

func (a *app) add(root *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		root.AddCommand(c)
	}
}

// errorFormat finds the form of errors in the arguments, which may be what is wrong: so they are read without judging.
func errorFormat(args []string) render.Format {
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, value, found := strings.Cut(arg, "=")
		short, isShort := strings.CutPrefix(arg, "-o")
		switch {
		case (arg == "-o" || arg == "--"+outputFlag) && i+1 < len(args):
			value = args[i+1]
		case found && (name == "-o" || name == "--"+outputFlag):
		case isShort:
			value = short
		default:
			continue
		}
		if f := render.Format(value); slices.Contains([]render.Format{render.JSON, render.YAML, render.NDJSON}, f) {
			return f
		}
		return render.Table
	}
	return render.Table
}
