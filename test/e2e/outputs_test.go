package e2e

import (
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/batch"
	"github.com/pondage/pondage/internal/batch/landed"
)

// columns are those of a stream's results, for package batch.
func (c *cluster) columns(t testing.TB, name string) []batch.Column {
	t.Helper()
	out := c.stream(t, name).Outputs.HTTP
	key := map[string]bool{}
	for _, k := range out.NaturalKey {
		key[k] = true
	}
	var columns []batch.Column
	for _, col := range out.Schema {
		columns = append(columns, batch.Column{Name: col.Name, Type: typeOf(col.Type), Key: key[col.Name]})
	}
	return columns
}

func typeOf(name string) batch.Type {
	switch {
	case name == "int64" || strings.HasPrefix(name, "decimal"):
		return batch.TypeInteger
	case name == "float64":
		return batch.TypeFloat
	case name == "timestamp":
		return batch.TypeTime
	}
	return batch.TypeText
}

// outputs reads everything a stream has left: over HTTP, and in its Postgres table and Kafka topic where it has them.
func (c *cluster) outputs(t testing.TB, name string, columns []batch.Column) []batch.Output {
	t.Helper()
	all, err := c.read(t, name, columns)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// read is outputs for a stream that may not have written anything yet.
func (c *cluster) read(t testing.TB, name string, columns []batch.Column) ([]batch.Output, error) {
	t.Helper()
	s, err := c.lookUp(t.Context(), name)
	if err != nil {
		return nil, err
	}
	overHTTP, err := landed.HTTP(t.Context(), c.api.HTTP, c.url, name, columns)
	if err != nil {
		return nil, err
	}
	all := []batch.Output{{Name: "http", Rows: overHTTP}}
	if o := s.Outputs.Postgres; o != nil {
		rows, err := landed.Postgres(t.Context(), c.dsn, o.Target, columns)
		if err != nil {
			return nil, err
		}
		all = append(all, batch.Output{Name: "postgres", Rows: rows})
	}
	if o := s.Outputs.Kafka; o != nil {
		rows, err := landed.Kafka(t.Context(), c.brokers, o.Target, columns)
		if err != nil {
			return nil, err
		}
		all = append(all, batch.Output{Name: "kafka", Rows: rows})
	}
	return all, nil
}

// rowsOf are the rows that the lines of JSON are.
func rowsOf(t testing.TB, columns []batch.Column, lines ...string) *batch.Rows {
	t.Helper()
	rows := batch.NewRows(columns)
	for _, line := range lines {
		if err := rows.AddJSON([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	return rows
}

// compare fails the case unless every output has exactly the rows.
func compare(t testing.TB, want *batch.Rows, outputs ...batch.Output) {
	t.Helper()
	if r := batch.Compare(want, outputs...); r.Different > 0 {
		t.Errorf("%d equal, %d different:\n%s", r.Equal, r.Different, strings.Join(r.First, "\n"))
	}
}

// settles waits until every output of a stream has exactly the rows.
func (c *cluster) settles(t testing.TB, name string, lines ...string) {
	t.Helper()
	columns := c.columns(t, name)
	want := rowsOf(t, columns, lines...)
	eventually(t, patience, "results of "+name, func() string {
		outputs, err := c.read(t, name, columns)
		if err != nil {
			return err.Error()
		}
		return strings.Join(batch.Compare(want, outputs...).First, "\n")
	})
}
