package cli

import (
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/config"
)

// Shell is what commands read from and write to.
type Shell struct {
	In       io.Reader
	Out, Err io.Writer
	// Width is that of the terminal behind Out, in characters; 0 when there is none, and then nothing is cut.
	Width int
	// Interactive tells that Err is a terminal: progress is redrawn in its line.
	Interactive bool
}

// app has the commands.
type app struct{ Shell }

// outputFlag is the flag that every command has.
const outputFlag = "output"

// output returns the form of the command's output. formats are those it has; none: the common ones.
func output(cmd *cobra.Command, formats ...render.Format) (render.Format, error) {
	if len(formats) == 0 {
		formats = render.Common
	}
	name, err := cmd.Flags().GetString(outputFlag)
	if err != nil {
		return "", err
	}
	f, err := render.Parse(name, formats)
	if err != nil {
		return "", usage("%v", err)
	}
	return f, nil
}

// show writes an answer: the JSON as it came, or what table draws.
func (a *app) show(f render.Format, raw []byte, table func() error) error {
	if f == render.Table {
		return table()
	}
	return render.Value(a.Out, f, raw)
}

// grid writes a table.
func (a *app) grid(g render.Grid) error { return g.Write(a.Out, a.Width) }

// ask is what a command does with a coordinator.
type ask func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error

// asking makes a command one that talks to a coordinator: it gets the flags for that.
func asking(cmd *cobra.Command, do ask, formats ...render.Format) *cobra.Command {
	cfg := config.DefaultClient()
	loader := config.NewLoader(&cfg)
	bind(cmd, loader)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := output(cmd, formats...)
		if err != nil {
			return err
		}
		if err := load(cmd, loader); err != nil {
			return err
		}
		c, err := client.New(cfg)
		if err != nil {
			return err
		}
		return do(cmd, c, f, args)
	}
	return cmd
}

// keyAnnotation marks flags that are keys of a configuration: docs/config.md has them.
const keyAnnotation = "pondage_key"

// shortNames are further names of keys that one types often.
var shortNames = map[string]string{"kafka": "kafka-brokers", "postgres": "postgres-url"}

// bind gives a command the flags of a configuration.
func bind(cmd *cobra.Command, loader *config.Loader) {
	keys := pflag.NewFlagSet("", pflag.ContinueOnError)
	loader.Bind(keys)
	keys.VisitAll(func(f *pflag.Flag) {
		f.Annotations = map[string][]string{keyAnnotation: nil}
		cmd.Flags().AddFlag(f)
	})
	cmd.Flags().SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		if long, ok := shortNames[name]; ok && keys.Lookup(long) != nil {
			name = long
		}
		return pflag.NormalizedName(name)
	})
}

// load reads a configuration from the process. Its warnings go to standard error.
func load(cmd *cobra.Command, loader *config.Loader) error {
	warnings, err := loader.LoadFromProcess()
	if err != nil {
		return &usageError{err}
	}
	for _, w := range warnings {
		cmd.PrintErrln("warning: " + w)
	}
	return nil
}

// Build says what this binary is, in a role. The version is that of the module, or "devel" for a build from a checkout.
func Build(role string) common.Version {
	v := common.Version{Version: "devel", Role: role, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if m := info.Main.Version; m != "" && m != "(devel)" {
		v.Version = m
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}
