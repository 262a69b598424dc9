package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/pondage/pondage/internal/api/common"
	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/internal/api/scalar"
	"github.com/pondage/pondage/internal/cli/client"
	"github.com/pondage/pondage/internal/cli/render"
)

const (
	// replayRecords and replayBytes bound the named records of a request; the API takes 32 MiB.
	replayRecords = 1000
	replayBytes   = 8 << 20
)

// unset is an offset or partition that no flag has named.
const unset = -1

// replayFlags are the choice on the command line.
type replayFlags struct {
	file, stream string
	codes        []string
	partition    int32
	from, to     int64
	all          bool
}

func (a *app) replay() *cobra.Command {
	var r replayFlags
	cmd := &cobra.Command{
		Use: "replay SOURCE", Short: "Append dead letters to their source once more", Args: cobra.ExactArgs(1),
		Long: `Each record goes to the end of the partition it was in. A stream takes one replay per record, so that a command that was
interrupted may be repeated; what is still wrong is a dead letter again, with a place of its own.
--file names records and their mended bytes in the form in which "dead-letters -o json" lists them. A row that is replayed is
judged like any other: it may be late by now.`,
		Example: `  pondage dead-letters replay flights --code division_by_zero --stream flights_1h
  pondage dead-letters flights -o json > bad.json   # mend the values, then
  pondage dead-letters replay flights --file bad.json`,
	}
	flags := cmd.Flags()
	flags.StringVar(&r.file, "file", "", "`file` of records with mended bytes, - for standard input")
	flags.StringSliceVar(&r.codes, "code", nil, "only those with this code; may be repeated")
	flags.Int32Var(&r.partition, "partition", unset, "only those of this partition")
	flags.Int64Var(&r.from, "from", unset, "only those with this offset or a higher one")
	flags.Int64Var(&r.to, "to", unset, "only those with a lower offset")
	flags.StringVar(&r.stream, "stream", "", "only this stream takes them")
	flags.BoolVar(&r.all, "all", false, "all of them")
	return asking(cmd, func(cmd *cobra.Command, c *client.Client, f render.Format, args []string) error {
		requests, err := a.replays(&r)
		if err != nil {
			return err
		}
		total := common.ReplayAnswer{NotReplayed: []common.NotReplayed{}}
		for _, request := range requests {
			answer, _, err := client.Decode[common.ReplayAnswer](c.ReplayDeadLetters(cmd.Context(), args[0], &api.ReplayDeadLettersParams{}, request))
			if err != nil {
				return err
			}
			total.Replayed += answer.Replayed
			total.NotReplayed = append(total.NotReplayed, answer.NotReplayed...)
			total.NotReplayedCount += answer.NotReplayedCount
		}
		raw, err := json.Marshal(total)
		if err != nil {
			return err
		}
		return a.show(f, raw, func() error { return a.replayed(args[0], total) })
	})
}

// replays are the requests that the flags mean.
func (a *app) replays(r *replayFlags) ([]common.ReplayRequest, error) {
	var base common.ReplayRequest
	base.Codes = r.codes
	if r.stream != "" {
		base.Stream = &r.stream
	}
	if r.partition != unset {
		base.Partition = &r.partition
	}
	for flag, to := range map[*int64]**common.Offset{&r.from: &base.From, &r.to: &base.To} {
		if *flag != unset {
			o := scalar.Int64(*flag)
			*to = &o
		}
	}
	if r.file != "" {
		return a.mended(r.file, base)
	}
	if !r.all && r.codes == nil && r.partition == unset && r.from == unset && r.to == unset {
		return nil, usage("say which dead letters: --all, --file, --code, --partition, --from, --to")
	}
	return []common.ReplayRequest{base}, nil
}

// mended reads records in the form of the listing, and puts them into requests that the API takes.
func (a *app) mended(file string, base common.ReplayRequest) ([]common.ReplayRequest, error) {
	in, _, err := a.open(file)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	text, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var doc struct {
		Items []struct {
			Partition int32         `json:"partition"`
			Offset    common.Offset `json:"offset"`
			Value     *string       `json:"value"`
			Base64    *string       `json:"value_base64"`
		} `json:"items"`
	}
	if err := json.Unmarshal(text, &doc); err != nil || doc.Items == nil {
		return nil, usage(`%s is not of the form {"items":[{"partition":0,"offset":"7","value":"…"}]}: %v`, file, err)
	}
	var out []common.ReplayRequest
	bytes := 0
	for i, item := range doc.Items {
		rec := common.ReplayRecord{Partition: item.Partition, Offset: item.Offset, Value: item.Value}
		if rec.Value == nil && item.Base64 != nil { // beside a value it is the listing's, and old once that is mended
			if rec.ValueBase64, err = base64.StdEncoding.DecodeString(*item.Base64); err != nil {
				return nil, usage("%s: value_base64 of item %d: %v", file, i+1, err)
			}
		}
		size := len(rec.ValueBase64)
		if rec.Value != nil {
			size = len(*rec.Value)
		}
		if last := len(out) - 1; last < 0 || len(out[last].Records) == replayRecords || bytes+size > replayBytes {
			out, bytes = append(out, base), 0
		}
		last := &out[len(out)-1]
		last.Records = append(last.Records, rec)
		bytes += size
	}
	return out, nil
}

// replayed tells what became of the records.
func (a *app) replayed(source string, r common.ReplayAnswer) error {
	fmt.Fprintf(a.Out, "%s of %s replayed\n", render.Count(r.Replayed, "dead letter"), source)
	if r.NotReplayedCount == 0 {
		return nil
	}
	fmt.Fprintf(a.Out, "%s not replayed:\n", render.Count(r.NotReplayedCount, "dead letter"))
	g := render.Grid{Columns: []string{"record", "reason"}}
	for _, n := range r.NotReplayed {
		record := "-"
		if n.Topic != "" {
			record = fmt.Sprintf("%s/%d/%s", n.Topic, n.Partition, n.Offset)
		}
		g.Add(record, n.Reason)
	}
	return a.grid(g)
}
