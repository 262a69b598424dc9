//go:build failpoints

package dirstore

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/pondage/pondage/internal/failpoint"
	"github.com/pondage/pondage/internal/ident"
)

// live, where it is set, makes this binary a node that lives in the directory that it names, and says what it was told.
const live = "DIRSTORE_TEST_LIVE"

func TestMain(m *testing.M) {
	root := os.Getenv(live)
	if root == "" {
		os.Exit(m.Run())
	}
	s, err := Open(root)
	if err != nil {
		panic(err)
	}
	n := &node{store: s, stage: 1}
	n.tell = func() {
		if err := json.NewEncoder(os.Stdout).Encode(told{n.complete, n.contents}); err != nil {
			panic(err)
		}
	}
	if err := n.life(1, lastOfLife); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// told is what a process was told to be durable.
type told struct {
	Complete ident.CheckpointID
	Contents []string
}

// TestFailpointsOfTheStore: the process is killed, or fails, at each place, the first time and later; the next one finds
// what the first was told, in a real directory.
func TestFailpointsOfTheStore(t *testing.T) {
	t.Parallel()
	for _, point := range failpoint.Points() {
		if point.Where != "internal/storage/dirstore" {
			continue
		}
		for _, action := range []string{"die@1", "die@3", "error(EIO)@1", "error(EIO)@3"} {
			root := t.TempDir()
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), live+"="+root, fmt.Sprintf("PONDAGE_FAILPOINTS=%s=%s", point.Point, action))
			out, err := cmd.Output()
			// A stage is raised once: there is no third time.
			if once := point.Point == failpoint.StorageFenceBeforeRename && strings.HasSuffix(action, "@3"); once != (err == nil) {
				t.Errorf("%s=%s: %v, %s", point.Point, action, err, out)
			}
			n := &node{stage: 1}
			for d := json.NewDecoder(bytes.NewReader(out)); d.More(); {
				var last told
				must(t, d.Decode(&last))
				n.complete, n.contents = last.Complete, last.Contents
			}
			s, err := Open(root)
			must(t, err)
			n.whole(t, s, fmt.Sprintf("%s=%s", point.Point, action))
			next := &node{store: s, stage: 2, contents: n.contents}
			if n.complete > 0 {
				m, _, err := s.Load(t.Context(), stream, task, n.complete)
				must(t, err)
				next.told = m.Files
			}
			must(t, next.life(lastOfLife+1, lastOfLife+3))
			next.whole(t, s, fmt.Sprintf("%s=%s, the next stage", point.Point, action))
		}
	}
}
