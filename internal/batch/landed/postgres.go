package landed

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/batch"
)

// Postgres reads the rows of a table. Values come as text that the server makes, so that no driver alters them.
func Postgres(ctx context.Context, dsn, table string, columns []batch.Column) (*batch.Rows, error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", table, err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	var cells []string
	for _, c := range columns {
		cells = append(cells, cell(c))
	}
	name := pgx.Identifier(strings.Split(table, ".")).Sanitize()
	found, err := conn.Query(ctx, "SELECT "+strings.Join(cells, ", ")+" FROM "+name)
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", table, err)
	}
	defer found.Close()
	rows := batch.NewRows(columns)
	texts := make([]*string, len(columns))
	into := make([]any, len(columns))
	for i := range texts {
		into[i] = &texts[i]
	}
	for found.Next() {
		if err := found.Scan(into...); err != nil {
			return nil, fmt.Errorf("read table %s: %w", table, err)
		}
		values := make([]string, len(columns))
		for i, c := range columns {
			var v any
			if texts[i] != nil {
				v = *texts[i]
			}
			if values[i], err = batch.Value(c.Type, v); err != nil {
				return nil, fmt.Errorf("table %s, column %s: %w", table, c.Name, err)
			}
		}
		rows.Add(values)
	}
	if err := found.Err(); err != nil {
		return nil, fmt.Errorf("read table %s: %w", table, err)
	}
	return rows, nil
}

func cell(c batch.Column) string {
	name := pgx.Identifier{c.Name}.Sanitize()
	if c.Type == batch.TypeTime {
		return fmt.Sprintf(`to_char(%s AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`, name)
	}
	return name + "::text"
}
