package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/invalid"
)

// usageError is a call that cannot be understood: exit status 2.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

func usage(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

func isUsage(err error) bool {
	var e *usageError
	return errors.As(err, &e)
}

// strict makes wrong flags, wrong arguments and missing or unknown commands below cmd a usageError.
func strict(cmd *cobra.Command) {
	if cmd.Name() == "help" { // cobra's own: it takes the names of any command
		return
	}
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &usageError{err} })
	check := cmd.Args
	switch {
	case !cmd.Runnable():
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, needCommand
		cmd.Annotations = map[string]string{groupAnnotation: "yes"}
	case check == nil:
		check = cobra.NoArgs
		fallthrough
	default:
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usage("%v; it is used as: %s", err, cmd.UseLine())
			}
			return nil
		}
	}
	for _, c := range cmd.Commands() {
		strict(c)
	}
}

// groupAnnotation marks commands that only hold others: they run, to say so, but are not shown as something to run.
const groupAnnotation = "group"

// usageTemplate is cobra's, without a line of use for commands that only hold others.
func usageTemplate(root *cobra.Command) string {
	return strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", `{{if and .Runnable (not (index .Annotations "`+groupAnnotation+`"))}}`, 1)
}

// needCommand is what a command does that is only there for those below it.
func needCommand(cmd *cobra.Command, args []string) error {
	var names []string
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			names = append(names, c.Name())
		}
	}
	if len(args) == 0 {
		cmd.SetOut(cmd.ErrOrStderr())
		_ = cmd.Help()
		return usage("%s needs one of the commands above", cmd.CommandPath())
	}
	hint := "commands: " + strings.Join(names, ", ")
	if near := invalid.Nearest(args[0], names); near != "" {
		hint = "did you mean " + near + "?"
	}
	return usage("%s has no command %q; %s", cmd.CommandPath(), args[0], hint)
}
