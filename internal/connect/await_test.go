package connect

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestAWaitForADatabaseIsToldNowAndThen(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var text bytes.Buffer
		log := slog.New(slog.NewTextHandler(&text, nil))
		began := time.Now()
		err := await(t.Context(), log, func() error {
			if time.Since(began) < 35*time.Second {
				return syscall.ECONNREFUSED
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		warnings, infos := strings.Count(text.String(), "level=WARN"), strings.Count(text.String(), "level=INFO")
		if warnings != 4 || infos != 1 || !strings.Contains(text.String(), "after=35s") { // at 0, 10, 20, 30 s
			t.Errorf("in 35 s the log says:\n%s", text.String())
		}
	})
}

func TestWhatRepeatingDoesNotCureEndsTheWait(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"28000", "28P01", "3D000"} {
		refused := &pgconn.PgError{Code: code}
		tried := 0
		err := await(t.Context(), slog.New(slog.DiscardHandler), func() error { tried++; return refused })
		if !errors.Is(err, refused) || tried != 1 {
			t.Errorf("%s: %v after %d attempts", code, err, tried)
		}
	}
}
