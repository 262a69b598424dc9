package cli

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/cli/render"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/tablehash"
)

func (a *app) hash() *cobra.Command {
	vgroups, affix := config.DefaultCoordinator().VGroups, tablehash.Affix{}
	cmd := &cobra.Command{
		Use: "hash NAME", Short: "Show the hash of a table name and the vgroup it belongs to", Args: cobra.ExactArgs(1),
		Long: `Hashes as rows are routed (MurmurHash3, 32 bits). --prefix and --suffix leave out so many bytes of the name, or, when
negative, hash nothing but them (hash_prefix and hash_suffix of an output). A name that begins with a dash comes after --.`,
		Example: "  pondage hash LAX\n  pondage hash LAX --vgroups 16 -o json\n  pondage hash meter_0042_v1 --suffix 3",
	}
	cmd.Flags().IntVar(&vgroups, "vgroups", vgroups, "number of vgroups of the cluster")
	cmd.Flags().IntVar(&affix.Prefix, "prefix", 0, "bytes of the beginning")
	cmd.Flags().IntVar(&affix.Suffix, "suffix", 0, "bytes of the end")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		f, err := output(cmd)
		if err != nil {
			return err
		}
		if err := affix.Validate(); err != nil {
			return usage("%v", err)
		}
		if vgroups < 1 {
			return usage("--vgroups %d: want at least 1", vgroups)
		}
		sum := affix.Sum([]byte(args[0]))
		answer := struct {
			Hash   uint32       `json:"hash"`
			VGroup ident.VGroup `json:"vgroup"`
		}{sum, tablehash.VGroupOf(sum, vgroups)}
		raw, err := json.Marshal(answer)
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error {
			return a.grid(render.Grid{Columns: []string{"hash", "vgroup"}, Rows: [][]string{{fmt.Sprint(answer.Hash), fmt.Sprint(answer.VGroup)}}})
		})
	}
	return cmd
}
