package pgtable

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestWritesHaveLimits(t *testing.T) {
	t.Parallel()
	pool := newPool(t)
	table := &Table{Name: "t", Columns: batch().Schema, Key: []string{"k"}}
	if _, err := table.Create(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	if err := fence(1).Raise(t.Context(), pool); err != nil {
		t.Fatal(err)
	}
	err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		if err := fence(1).hold(t.Context(), tx); err != nil {
			return err
		}
		var statement, idle string
		if err := tx.QueryRow(t.Context(), "SELECT current_setting('statement_timeout'), current_setting('idle_in_transaction_session_timeout')").Scan(&statement, &idle); err != nil {
			return err
		}
		if statement != "50s" || idle != "5s" {
			t.Errorf("within a write: statement_timeout %s, idle_in_transaction_session_timeout %s", statement, idle)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var after string
	if err := pool.QueryRow(t.Context(), "SELECT current_setting('statement_timeout')").Scan(&after); err != nil || after != "0" {
		t.Errorf("behind it: statement_timeout %s, %v: a pooler would hand it on", after, err)
	}
}
