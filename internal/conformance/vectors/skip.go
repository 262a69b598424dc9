package vectors

import "fmt"

// The triggers that this version has.
const (
	triggerAtOnce      Trigger = "at_once"
	triggerWindowClose Trigger = "window_close"
)

// kindInterval is the window kind that this version has.
const kindInterval = "interval"

// Skip says why this version cannot run the case; "" when it can.
func (c *Case) Skip() string {
	switch {
	case c.Window.Kind != kindInterval:
		return fmt.Sprintf("%s windows are not supported yet", c.Window.Kind)
	case c.Trigger != triggerAtOnce && c.Trigger != triggerWindowClose:
		return fmt.Sprintf("trigger %s is not supported yet", c.Trigger)
	case c.Options.CreatedAfter != nil:
		return "created_after asks for a stream that is made in the middle of the input: history is not supported yet"
	case c.deletes():
		return "it deletes rows: upsert sources are not supported yet"
	case c.Options.IgnoreUpdate == 0 && c.updates():
		return "it writes a row of one table and time twice: upsert sources are not supported yet"
	}
	return ""
}

func (c *Case) deletes() bool {
	for i := range c.Input {
		if c.Input[i].Deletes() {
			return true
		}
	}
	return false
}

// updates tells whether two inputs have the same table and time.
func (c *Case) updates() bool {
	type identity struct {
		table  string
		timeMs int64
	}
	seen := map[identity]bool{}
	for i := range c.Input {
		id := identity{c.Input[i].Table, c.Input[i].TimeMs}
		if seen[id] {
			return true
		}
		seen[id] = true
	}
	return false
}
