package testpg_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/devstack/testpg"
)

func TestEachTestHasItsOwnDatabase(t *testing.T) {
	t.Parallel()
	for range 2 {
		conn, err := pgx.Connect(t.Context(), testpg.DSN(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(t.Context())
		if _, err := conn.Exec(t.Context(), "CREATE TABLE same_name (x int)"); err != nil {
			t.Fatal(err)
		}
	}
}
