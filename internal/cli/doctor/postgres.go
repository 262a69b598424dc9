package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pondage/pondage/internal/connect"
)

// leastPostgres is the oldest server that Pondage runs on (DESIGN §11), as server_version_num has it.
const leastPostgres = 150000

// databaseSQL asks for all that is looked at in one round trip.
const databaseSQL = `SELECT current_setting('server_version_num')::int, current_setting('server_version'), current_database(), current_user,
	has_database_privilege(current_database(), 'CREATE'), coalesce(has_schema_privilege(current_schema(), 'CREATE'), false),
	current_setting('server_encoding'), pg_is_in_recovery(), clock_timestamp()`

type database struct {
	number                        int
	version, name, user, encoding string
	mayMakeSchemas, mayMakeTables bool
	standby                       bool
	now                           time.Time
}

// postgres looks at the database: reachable, recent enough, and whether this user may do what Pondage does.
func postgres(ctx context.Context, s *state) []Check {
	if s.cfg.Postgres.URL == "" {
		return []Check{bad(Skipped, "postgres", "database", "none is named", "--postgres-url postgres://user@host:port/database; pondage dev prints that of its own")}
	}
	dsn, err := connect.DSN(s.cfg.Postgres)
	if err != nil {
		return []Check{bad(Failing, "postgres", "database", err.Error(), "check postgres.url and postgres.password")}
	}
	asked := time.Now()
	d, err := ask(ctx, dsn)
	if err != nil {
		why := connect.RefusedPostgres(dsn, err)
		return []Check{bad(Failing, "postgres", "database", why.Error(), why.Hint)}
	}
	trip := time.Since(asked)
	s.skew = append(s.skew, skew{"Postgres", time.Until(d.now), trip})
	out := []Check{ok("postgres", "database", fmt.Sprintf("%s as %s", d.name, d.user))}
	return append(out, d.checks()...)
}

func ask(ctx context.Context, dsn string) (d database, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return d, err
	}
	defer func() { _ = conn.Close(ctx) }() // everything is known by then
	err = conn.QueryRow(ctx, databaseSQL).Scan(&d.number, &d.version, &d.name, &d.user, &d.mayMakeSchemas, &d.mayMakeTables, &d.encoding, &d.standby, &d.now)
	return d, err
}

func (d database) checks() []Check {
	version, rights, encoding := ok("postgres", "version", d.version), ok("postgres", "rights", d.user+" may create schemas and tables"), ok("postgres", "encoding", d.encoding)
	if d.number < leastPostgres {
		version = bad(Failing, "postgres", "version", d.version+" is too old", "take Postgres 15 or newer")
	}
	grant := fmt.Sprintf("GRANT CREATE ON DATABASE %s TO %s", pgx.Identifier{d.name}.Sanitize(), pgx.Identifier{d.user}.Sanitize())
	switch {
	case d.standby:
		rights = bad(Failing, "postgres", "rights", "the server is a standby and takes no changes", "name the primary")
	case !d.mayMakeSchemas:
		rights = bad(Failing, "postgres", "rights", d.user+" may not create schemas", grant)
	case !d.mayMakeTables:
		rights = bad(Failing, "postgres", "rights", d.user+" may not create tables in its schema, where result tables are made", "GRANT CREATE ON SCHEMA public TO "+pgx.Identifier{d.user}.Sanitize())
	}
	if d.encoding != "UTF8" {
		encoding = bad(Failing, "postgres", "encoding", d.encoding+" cannot hold all texts", "make the database with ENCODING 'UTF8'")
	}
	return []Check{version, rights, encoding}
}
