package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/jackc/pgx/v5"
)

// readTable calls take with every row of a table of results.
func readTable(ctx context.Context, dsn, table string, take func(row) error) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("read table %s: %w", table, err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	rows, err := conn.Query(ctx, `SELECT device, wstart, wend, cnt, sum, avg, min, max FROM `+pgx.Identifier{table}.Sanitize())
	if err != nil {
		return fmt.Errorf("read table %s: %w", table, err)
	}
	var (
		r     row
		count int64
	)
	_, err = pgx.ForEachRow(rows, []any{&r.Device, &r.Start, &r.End, &count, &r.Sum, &r.Avg, &r.Min, &r.Max}, func() error {
		r.Count = strconv.FormatInt(count, 10)
		return take(r)
	})
	if err != nil {
		return fmt.Errorf("read table %s: %w", table, err)
	}
	return nil
}

// dropTable removes the table of a run.
func dropTable(ctx context.Context, dsn, table string) (err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return fmt.Errorf("drop table %s: %w", table, err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	_, err = conn.Exec(ctx, "DROP TABLE "+pgx.Identifier{table}.Sanitize())
	return err
}
