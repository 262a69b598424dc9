package task

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pondage/pondage/internal/task"
	"github.com/pondage/pondage/internal/window"
)

// TestI12_AFullDiskBelowWindowsHasItsName: a task whose windows need more than memory and find no room on disk ends, and says what
// to do about it; it shows nothing wrong before.
func TestI12_AFullDiskBelowWindowsHasItsName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		full := Windows{Bytes: func() int64 { return 1 }, Open: func() (Spill, error) {
			return nil, fmt.Errorf("open /data/overflow/7/agg-0-1: %w: %w", window.ErrSpillFull, syscall.ENOSPC)
		}}
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1, windows: full})
		s.start()
		s.record(0, "a", 1, 0)
		s.record(0, "a", 21, 0)
		time.Sleep(time.Minute)
		synctest.Wait()
		r := s.reports()["agg-0"]
		if r.State != task.Failed || r.Cause == nil || r.Cause.Code != "disk_full" || !strings.Contains(r.Cause.Message, "/data/overflow/7/agg-0-1") {
			t.Errorf("%s: %+v", r.State, r.Cause)
		}
		s.end()
	})
}
