package devstack

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// explain wraps an error of the machine with what to do about it.
func explain(what, where string, err error) error {
	hint := ""
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		hint = ": stop what listens there, or choose another port (0 takes a free one)"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		hint = ": the disk is full, free some space"
	case errors.Is(err, fs.ErrPermission):
		hint = ": this user may not; choose a place that it owns"
	}
	return fmt.Errorf("devstack: %s %s: %w%s", what, where, err, hint)
}
