package control

import (
	"sync"
	"time"

	"github.com/pondage/pondage/internal/ident"
)

// sayAgain is the pause between two words about a failure that goes on.
const sayAgain = 10 * time.Second

// complaint tells how often a failure that is repeated every second is worth a word: when it begins, now and then, and when it
// is over. The zero value is ready. Any goroutine may call it.
type complaint struct {
	mu          sync.Mutex
	failing     bool
	began, said ident.MonoMs // valid while failing
}

// failed notes a failure, and tells whether to say it.
func (c *complaint) failed(now ident.MonoMs) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failing && now-c.said < ident.MonoMs(sayAgain.Milliseconds()) {
		return false
	}
	if !c.failing {
		c.failing, c.began = true, now
	}
	c.said = now
	return true
}

// over notes a success, and tells whether it ends a failure, and how long that was.
func (c *complaint) over(now ident.MonoMs) (after time.Duration, ended bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended, c.failing = c.failing, false
	return time.Duration(now-c.began) * time.Millisecond, ended
}
