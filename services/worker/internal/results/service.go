package results

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	api "github.com/pondage/pondage/internal/api/worker"
	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/pgtable"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/rowjson"
	"github.com/pondage/pondage/internal/spec"
	"github.com/pondage/pondage/services/worker/internal/catalog"
	"github.com/pondage/pondage/services/worker/internal/stage"
)

// Streams finds streams by name (*catalog.Catalog).
type Streams interface {
	Stream(ctx context.Context, name string) (*catalog.Stream, error)
}

// Databases reaches the database that a spec means, nil: the cluster's (*connect.Hub).
type Databases interface {
	Postgres(dsn *spec.SecretRef) (*pgxpool.Pool, error)
}

const (
	// maxReaders is how many questions a database answers at once for one worker.
	maxReaders = 4
	// defaultWait is how long a question waits for its turn.
	defaultWait = 5 * time.Second
	// pageTime bounds a page.
	pageTime = 30 * time.Second
	// pageRows is a page without a limit.
	pageRows = 100
	// retryAfter is when a client may try again that found all readers busy, or no database.
	retryAfter = 2 * time.Second
)

// Service answers questions. Make it with New.
type Service struct {
	streams   Streams
	databases Databases
	wait      time.Duration

	mu      sync.Mutex
	readers map[*pgxpool.Pool]*pgxpool.Pool // of readers, by the pool of the sinks
}

// New returns a service.
func New(s Streams, d Databases) *Service {
	return &Service{streams: s, databases: d, wait: defaultWait, readers: map[*pgxpool.Pool]*pgxpool.Pool{}}
}

// Close ends the readers' connections. Questions must have ended before.
func (s *Service) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, pool := range s.readers {
		pool.Close()
	}
	clear(s.readers)
}

// question is a question, understood.
type question struct {
	table *pgtable.Table
	pool  *pgxpool.Pool
	wait  time.Duration // for a connection of the pool
	query pgtable.Query
	mark  string
}

// Page answers one page.
//
// Errors: *problem.Error with stream_unknown, results_off, bad_cursor, sink_unreachable, overloaded; *invalid.Error for
// filter and order.
func (s *Service) Page(ctx context.Context, name string, p api.GetResultsParams) (api.ResultPage, error) {
	q, err := s.understand(ctx, name, p)
	if err != nil {
		return api.ResultPage{}, err
	}
	limit := pageRows
	if p.Limit != nil {
		limit = int(*p.Limit)
	}
	q.query.Limit = limit + 1 // one more tells whether there is a next page
	ctx, cancel := context.WithTimeout(ctx, pageTime)
	defer cancel()
	page := api.ResultPage{Items: []api.ResultRow{}}
	cursor := ""
	encoder := rowjson.NewEncoder(q.table.Columns)
	err = q.read(ctx, func(b *block.Batch) error {
		for i := range b.Rows() {
			if len(page.Items) == limit {
				page.NextCursor = &cursor
				return nil
			}
			page.Items = append(page.Items, json.RawMessage(encoder.AppendRow(nil, b.Cols, i)))
			if len(page.Items) == limit {
				cursor = sealCursor(q.mark, q.table.Cursor(q.query.Order, b, i))
			}
		}
		return nil
	})
	return page, err
}

// NDJSON writes the whole result, a row a line. Errors as Page; nothing is written before one that can be answered.
func (s *Service) NDJSON(ctx context.Context, name string, p api.GetResultsParams, to io.Writer) error {
	return s.stream(ctx, name, p, newNDJSON, to)
}

// CSV writes the whole result as CSV. Errors as Page; nothing is written before one that can be answered.
func (s *Service) CSV(ctx context.Context, name string, p api.GetResultsParams, to io.Writer) error {
	return s.stream(ctx, name, p, newCSV, to)
}

func (s *Service) stream(ctx context.Context, name string, p api.GetResultsParams, form newForm, to io.Writer) error {
	if p.Cursor != nil {
		return problem.New(problem.CodeBadCursor, "a whole result has no cursor: leave it out, or ask for application/json")
	}
	q, err := s.understand(ctx, name, p)
	if err != nil {
		return err
	}
	if p.Limit != nil {
		q.query.Limit = int(*p.Limit)
	}
	out := newBuffered(to)
	rows := form(out, q.table.Columns)
	if err := q.read(ctx, rows.batch); err != nil {
		return err
	}
	return out.Flush()
}

// understand reads the question.
func (s *Service) understand(ctx context.Context, name string, p api.GetResultsParams) (q question, err error) {
	stream, err := s.streams.Stream(ctx, name)
	if err != nil {
		return q, err
	}
	table, dsn, ok := stage.ResultTable(stream.Plan, stream.ID)
	if !ok {
		return q, problem.New(problem.CodeResultsOff, "stream %s keeps no results: its results.retain is 0", name)
	}
	q.table, q.wait = table, s.wait
	filter, order := value(p.Filter), value(p.Order)
	if filter != "" {
		typed, err := ParseFilter(filter, table.Columns)
		if err != nil {
			return q, err
		}
		q.query.Filter = typed.Expr()
	}
	if order != "" {
		if q.query.Order, err = parseOrder(order, table.Columns); err != nil {
			return q, err
		}
	}
	q.mark = mark(stream.ID, filter, order)
	if p.Cursor != nil {
		if q.query.After, err = openCursor(q.mark, *p.Cursor); err != nil {
			return q, err
		}
	}
	q.pool, err = s.reader(dsn)
	return q, err
}

func value(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// reader returns the readers' pool of a database.
func (s *Service) reader(dsn *spec.SecretRef) (*pgxpool.Pool, error) {
	sinks, err := s.databases.Postgres(dsn)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if pool := s.readers[sinks]; pool != nil {
		return pool, nil
	}
	cfg := sinks.Config()
	cfg.MinConns, cfg.MinIdleConns, cfg.MaxConns = 0, 0, maxReaders
	pool, err := pgxpool.NewWithConfig(context.Background(), cfg)
	if err != nil {
		return nil, fmt.Errorf("connections of readers: %w", err)
	}
	s.readers[sinks] = pool
	return pool, nil
}

// read asks the database, in a transaction that cannot change anything.
func (q *question) read(ctx context.Context, yield func(*block.Batch) error) error {
	waiting, cancel := context.WithTimeout(ctx, q.wait)
	conn, err := q.pool.Acquire(waiting)
	cancel()
	if err != nil {
		return q.explain(ctx, err)
	}
	defer conn.Release()
	err = pgx.BeginTxFunc(ctx, conn, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return q.table.Read(ctx, tx, q.query, yield)
	})
	return q.explain(ctx, err)
}

// SQLSTATEs that have a meaning here.
const (
	sqlUndefinedTable = "42P01" // no result was written yet, or the stream was dropped meanwhile
	sqlSchemaUnknown  = "3F000" // the same, before the first table of all
	classDataFault    = "22"    // a value of the question that its column does not take, an overflow
	classNoConnection = "08"
	classNoResources  = "53"
	classIntervention = "57" // the server shuts down, or cancels
)

// notInPostgres are the SQLSTATEs of a filter that is right in our language and has no types in Postgres's.
var notInPostgres = map[string]bool{"42883": true, "42804": true, "42P18": true, "42725": true}

// explain gives an error its form for the client.
func (q *question) explain(ctx context.Context, err error) error {
	var pg *pgconn.PgError
	var known *problem.Error
	var faults *invalid.Error
	switch {
	case err == nil || errors.As(err, &known) || ctx.Err() != nil:
		return err
	case errors.As(err, &faults) && faults.Details[0].Code != pgtable.CodeCursor:
		return below(atFilter, err)
	case errors.As(err, &faults):
		return err
	case errors.As(err, &pg):
		return q.explainAnswer(err, pg)
	case errors.Is(err, context.DeadlineExceeded) && q.pool.Stat().AcquiredConns() >= maxReaders:
		e := problem.New(problem.CodeOverloaded, "%d questions to the database of the results are running", maxReaders)
		e.RetryAfter = retryAfter
		return e
	case isUnreachable(err):
		return unreachable(err, "the database of the results does not answer")
	}
	return err
}

func (q *question) explainAnswer(err error, pg *pgconn.PgError) error {
	switch class := pg.Code[:2]; {
	case pg.Code == sqlUndefinedTable, pg.Code == sqlSchemaUnknown:
		return nil
	case (class == classDataFault || notInPostgres[pg.Code]) && q.query.After != "" && q.query.Filter == nil:
		return problem.Wrap(err, problem.CodeBadCursor, "the cursor does not belong to this question; begin again without it")
	case (class == classDataFault || notInPostgres[pg.Code]) && q.query.Filter != nil:
		return below(atFilter, filterFault(pg.Message))
	case class == classNoConnection, class == classNoResources, class == classIntervention:
		return unreachable(err, "the database of the results refuses: "+pg.Message)
	}
	return err
}

// isUnreachable tells errors of the way to the database from those of this program.
func isUnreachable(err error) bool {
	var connect *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &connect) || errors.As(err, &network) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, io.ErrUnexpectedEOF)
}

func unreachable(cause error, detail string) error {
	e := problem.Wrap(cause, problem.CodeSinkUnreachable, "%s", detail)
	e.RetryAfter = retryAfter
	return e
}
