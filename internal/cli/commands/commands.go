// Package commands lists the commands that live in packages of their own: larger tools around a whole Pondage.
//
// It owns: that list. It does not own: the commands, or those of package cli.
package commands

import (
	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/bench"
	"github.com/pondage/pondage/internal/chaos"
	"github.com/pondage/pondage/internal/conformance"
	"github.com/pondage/pondage/internal/demo"
)

// All returns the commands, one a line.
func All() []*cobra.Command {
	return []*cobra.Command{
		demo.Command(),
		conformance.Command(),
		bench.Command(),
		chaos.Command(),
	}
}
