// Package chaos runs `pondage chaos` for a short while, as CI does with every change. The long series is `make chaos`.
//
// It owns: which seeds and faults are met on the way. It does not own: the runs (internal/chaos).
package chaos
