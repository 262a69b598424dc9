package httpapi

import (
	"context"
	"strconv"
	"strings"
	"time"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/services/coordinator/internal/control"
)

// sourceUse is what the streams of a source tell about it.
type sourceUse struct {
	streams []string
	// taken are the counters of the stream that has taken the most records: each stream counts for itself, so a sum would
	// count a record once for each.
	taken control.Counters
}

// showSources lists the sources. The columns of a source come last: they are what a narrow terminal can do without.
func (h *handler) showSources(ctx context.Context) (table, error) {
	sources, err := everything(ctx, h.App.ListSources)
	if err != nil {
		return table{}, err
	}
	streams, err := everything(ctx, h.App.ListStreams)
	if err != nil {
		return table{}, err
	}
	uses := map[string]*sourceUse{}
	for _, s := range streams {
		name := sourceName(s.Spec)
		use := uses[name]
		if use == nil {
			use = &sourceUse{}
			uses[name] = use
		}
		use.streams = append(use.streams, s.Name)
		if s.Progress.Counters.Accepted() > use.taken.Accepted() {
			use.taken = s.Progress.Counters
		}
	}
	columns := []string{"name", "topic", "format", "table", "event_time", "streams", "accepted", "dead_lettered", "created_at", "columns"}
	return newTable(columns, sources, func(s control.Source) []*string { return h.sourceRow(s, uses[s.Name]) }), nil
}

// sourceRow has null where nothing is known: the counters of a source that no stream reads, all of a spec that a newer version
// has written.
func (h *handler) sourceRow(s control.Source, use *sourceUse) []*string {
	row := api.SQLRow{cell(s.Name), nil, nil, nil, nil, nil, nil, nil, cell(s.Created.UTC().Format(time.RFC3339)), nil}
	if head, err := h.Language.SourceHead(s.Spec); err == nil {
		row[1], row[2], row[3], row[4] = cell(head.Topic), cell(head.Format), cell(head.Table), cell(head.EventTime)
		row[9] = cell(strings.Join(head.Columns, ", "))
	}
	if use != nil {
		row[5] = cell(strings.Join(use.streams, ", "))
		row[6], row[7] = cell(strconv.FormatInt(use.taken.Accepted(), 10)), cell(strconv.FormatInt(use.taken.DeadLettered, 10))
	}
	return row
}
