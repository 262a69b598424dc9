package connect

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLSTATEs of a connection that no repeating brings about.
const (
	invalidAuthorization = "28"    // class: no such role, wrong password, no entry in pg_hba.conf
	invalidCatalog       = "3D000" // no such database
)

// Credentials tells whether Postgres has refused who asks.
func Credentials(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.HasPrefix(pg.Code, invalidAuthorization)
}

// NoDatabase tells whether the server has no database of the name.
func NoDatabase(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == invalidCatalog
}
