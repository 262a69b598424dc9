//go:build failpoints

package failpoint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hits, where it is set, makes this binary a process that hits a place twice and says what came of it.
const hits = "FAILPOINT_TEST_HITS"

func TestMain(m *testing.M) {
	if os.Getenv(hits) == "" {
		os.Exit(m.Run())
	}
	begin := time.Now()
	fmt.Println("first:", Hit(StorageFileBeforeSync), On(DropOneBlock))
	fmt.Println("second:", Hit(StorageFileBeforeSync), On(DropOneBlock))
	fmt.Println("slow:", time.Since(begin) > slow)
}

const slow = 300 * time.Millisecond

// process runs one with a text; it returns what was said on both outputs.
func process(t *testing.T, text string) (out, errs string, err error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), hits+"=1", "PONDAGE_FAILPOINTS="+text)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

func TestFailpointsOfAProcess(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                      "first: <nil> false\nsecond: <nil> false\nslow: false\n",
		"storage/file:before-sync=error(EIO)@2": "first: <nil> false\nsecond: input/output error false\nslow: false\n",
		"storage/file:before-sync=error(mine)@1+": "first: injected by a failpoint: mine false\nsecond: injected by a failpoint: mine false\nslow: false\n",
		"drop-one-block": "first: <nil> true\nsecond: <nil> false\nslow: false\n",
		"storage/file:before-sync=sleep(300ms)@2":       "first: <nil> false\nsecond: <nil> false\nslow: true\n",
		"storage/file:before-sync=die@3; dup-one-block": "first: <nil> false\nsecond: <nil> false\nslow: false\n",
	} {
		if got, errs, err := process(t, text); got != want || err != nil {
			t.Errorf("%q: %v, got\n%s%s", text, err, got, errs)
		}
	}
}

func TestFailpointsThatEndAProcess(t *testing.T) {
	t.Parallel()
	out, errs, err := process(t, "storage/file:before-sync=die@2")
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
		t.Errorf("die: %v", err)
	}
	if !strings.HasPrefix(out, "first:") || strings.Contains(out, "second:") || errs != "failpoint storage/file:before-sync: die\n" {
		t.Errorf("die: said %q and %q", out, errs)
	}
	if _, _, err := process(t, "storage/file:before-sync=exit(7)"); !errors.As(err, &ended) || ended.ExitCode() != 7 {
		t.Errorf("exit: %v", err)
	}
	if _, errs, err := process(t, "no-such-point"); !errors.As(err, &ended) || ended.ExitCode() != exitUsage || !strings.Contains(errs, "no-such-point") {
		t.Errorf("a text that cannot be read: %v, %s", err, errs)
	}
}
