package httpapi

import (
	"context"
	"errors"
	"strings"
	"time"

	api "github.com/pondage/pondage/internal/api/coordinator"
	"github.com/pondage/pondage/services/coordinator/internal/control"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
	"github.com/pondage/pondage/services/coordinator/internal/language"
)

// ExecuteSQL executes one statement.
func (h *handler) ExecuteSQL(ctx context.Context, r api.ExecuteSQLRequestObject) (api.ExecuteSQLResponseObject, error) {
	st, err := h.Language.Parse(r.Body.Statement)
	if err != nil {
		return nil, err
	}
	req, err := request(ctx, r.Params.IdempotencyKey, nil)
	if err != nil {
		return nil, err
	}
	answer := api.SQLResult{Action: string(st.Action), Object: string(st.Kind), Name: orNull(st.Name), Columns: []string{}, Rows: []api.SQLRow{}}
	var t table
	switch st.Action {
	case language.Create:
		err = h.create(ctx, req, st)
	case language.Drop:
		err = h.drop(ctx, req, st)
	case language.Show:
		t, err = h.show(ctx, st.Kind)
	case language.Describe:
		var kind language.Kind
		t, kind, err = h.describe(ctx, st.Name)
		answer.Object = string(kind)
	case language.Explain:
		t, err = h.explain(ctx, st)
	}
	if err != nil {
		return nil, st.Locate(err)
	}
	if t.columns != nil {
		answer.Columns, answer.Rows = t.columns, t.rows
	}
	return api.ExecuteSQL200JSONResponse(answer), nil
}

// table is the rows that a statement answers with.
type table struct {
	columns []string
	rows    []api.SQLRow
}

// newTable makes rows of n items; the cells of each are f's.
func newTable[T any](columns []string, items []T, f func(T) []*string) table {
	return table{columns, convert(items, f)}
}

func cell(s string) *string { return &s }

func (h *handler) create(ctx context.Context, r control.Request, st language.Statement) error {
	var err error
	if st.Kind == language.KindSource {
		_, err = h.App.CreateSource(ctx, r, st.Doc)
	} else {
		_, err = h.App.CreateStream(ctx, r, st.Doc)
	}
	return err
}

func (h *handler) drop(ctx context.Context, r control.Request, st language.Statement) error {
	if st.Kind == language.KindSource {
		return h.App.DeleteSource(ctx, r, st.Name)
	}
	_, err := h.App.ActOnStream(ctx, r, st.Name, decide.Drop)
	return err
}

func (h *handler) show(ctx context.Context, kind language.Kind) (table, error) {
	if kind == language.KindSource {
		return h.showSources(ctx)
	}
	all, err := everything(ctx, h.App.ListStreams)
	return newTable([]string{"name", "source", "state", "stage", "watermark", "lag", "accepted", "late"}, all, h.streamRow), err
}

func (h *handler) streamRow(s control.Stream) []*string {
	doc := h.streamDoc(s)
	var watermark *string
	if doc.Watermark != nil {
		watermark = cell(doc.Watermark.Format(time.RFC3339Nano))
	}
	return []*string{cell(doc.Name), cell(doc.Source), cell(doc.State), cell(doc.Stage.String()), watermark, cell(doc.Lag.String()),
		cell(doc.Counters.Accepted.String()), cell(doc.Counters.Late.String())}
}

// everything reads a list to its end.
func everything[T any](ctx context.Context, list func(context.Context, control.Page) (control.List[T], error)) ([]T, error) {
	var out []T
	p := control.Page{Limit: control.MaxPage}
	for {
		part, err := list(ctx, p)
		if err != nil {
			return nil, err
		}
		out = append(out, part.Items...)
		if part.Next == "" {
			return out, nil
		}
		p.Cursor = part.Next
	}
}

// describe shows the columns of a stream's results, or of a source. A stream and a source may have one name; then the
// stream is meant.
func (h *handler) describe(ctx context.Context, name string) (table, language.Kind, error) {
	columns, kind, err := h.columnsOf(ctx, name)
	return newTable([]string{"column", "type", "role"}, columns, func(c language.Column) []*string {
		return []*string{cell(c.Name), cell(c.Type), cell(c.Role)}
	}), kind, err
}

func (h *handler) columnsOf(ctx context.Context, name string) ([]language.Column, language.Kind, error) {
	stream, err := h.App.GetStream(ctx, name)
	if err == nil {
		understood, err := h.Language.Stream(stream.Source, stream.Spec)
		if err != nil {
			return nil, language.KindStream, err
		}
		return understood.Columns(), language.KindStream, nil
	}
	if !hasCode(err, control.CodeStreamUnknown) {
		return nil, "", err
	}
	source, err := h.App.GetSource(ctx, name)
	if err != nil {
		return nil, "", err
	}
	columns, err := h.Language.SourceColumns(source.Spec)
	return columns, language.KindSource, err
}

func hasCode(err error, code string) bool {
	var e *control.Error
	return errors.As(err, &e) && e.Code == code
}

// explain shows the plan, a line a row.
func (h *handler) explain(ctx context.Context, st language.Statement) (table, error) {
	understood, err := h.understand(ctx, st)
	if err != nil {
		return table{}, err
	}
	lines := strings.Split(strings.TrimRight(understood.Explain(), "\n"), "\n")
	return newTable([]string{"plan"}, lines, func(line string) []*string { return []*string{cell(line)} }), nil
}
