//go:build failpoints

package task

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"testing"
	"testing/synctest"
	"time"
)

// TestFailpointCount counts twenty records that come in twenty blocks, and says what came of it.
func TestFailpointCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t, scene{stream: count10s, vgroups: 1, partitions: 1})
		s.start()
		for i := range 20 {
			s.record(0, "a", float64(i)/2, 0)
			time.Sleep(500 * time.Millisecond)
		}
		s.record(0, "a", 20, 0)
		time.Sleep(5 * time.Second)
		synctest.Wait()
		fmt.Printf("counted %v\n", s.results())
	})
}

// TestFailpointsOfTheDataPlane: the misbehaviours change what is counted, which is what checkers have to see; at a place
// that fails the task ends and nothing wrong is shown; at one that kills it the process is gone.
func TestFailpointsOfTheDataPlane(t *testing.T) {
	t.Parallel()
	const all, nothing = 20, -1
	for text, right := range map[string]func(n int) bool{
		"":                  func(n int) bool { return n == all },
		"drop-one-block@3":  func(n int) bool { return n < all && n > 0 },
		"dup-one-block@3":   func(n int) bool { return n > all },
		"reuse-msg-id@3":    func(n int) bool { return n < all && n > 0 },
		"drop-one-block@1+": func(n int) bool { return n == nothing },
		"dispatch/send:before-append=error(mine)@3":  func(n int) bool { return n == nothing },
		"dispatch/send:acknowledged=error(mine)@3":   func(n int) bool { return n == nothing },
		"dispatch/receive:before-merge=error(me)@3":  func(n int) bool { return n == nothing },
		"dispatch/receive:merged=error(mine)@3":      func(n int) bool { return n == nothing },
		"dispatch/receive:merged=sleep(10ms)@1+":     func(n int) bool { return n == all },
		"dispatch/send:acknowledged=sleep(10ms)@1+":  func(n int) bool { return n == all },
		"dispatch/receive:before-merge=die@3":        func(n int) bool { return n == nothing },
		"dispatch/send:before-append=sleep(10ms)@2+": func(n int) bool { return n == all },
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailpointCount$")
			cmd.Env = append(os.Environ(), "PONDAGE_FAILPOINTS="+text)
			out, _ := cmd.Output() // its failures are in what it says
			n := nothing
			if m := regexp.MustCompile(`"n":"(\d+)"`).FindSubmatch(out); m != nil {
				n, _ = strconv.Atoi(string(m[1]))
			}
			if !right(n) {
				t.Errorf("%s", out)
			}
		})
	}
}
