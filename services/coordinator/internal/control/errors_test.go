package control

import (
	"errors"
	"testing"
)

// TestAnErrorSaysEachThingOnce: many messages are made of their cause.
func TestAnErrorSaysEachThingOnce(t *testing.T) {
	t.Parallel()
	cause := errors.New("no such host")
	for want, e := range map[string]*Error{
		"the topic is wrong":                 {Message: "the topic is wrong"},
		"the brokers are away: no such host": {Message: "the brokers are away", Err: cause},
		"ask the brokers: no such host":      {Message: "ask the brokers: no such host", Err: cause},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
