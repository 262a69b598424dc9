package spec

import (
	"strings"
)

// TriggerKind says when a window's result is written (DESIGN §8).
type TriggerKind string

// The triggers. The last three take a duration: `max_delay 5s`.
const (
	TriggerWindowClose           TriggerKind = "window_close"
	TriggerAtOnce                TriggerKind = "at_once"
	TriggerForceWindowClose      TriggerKind = "force_window_close"
	TriggerMaxDelay              TriggerKind = "max_delay"
	TriggerContinuousWindowClose TriggerKind = "continuous_window_close"
	TriggerPeriod                TriggerKind = "period"
)

// Trigger is a trigger with its duration; the zero value is an absent one.
type Trigger struct {
	Kind  TriggerKind
	Every Duration
}

var (
	plainTriggers = []TriggerKind{TriggerWindowClose, TriggerAtOnce, TriggerForceWindowClose}
	timedTriggers = []TriggerKind{TriggerMaxDelay, TriggerContinuousWindowClose, TriggerPeriod}
)

func (t *Trigger) decode(d *decoder, at string, n *node) {
	text, ok := d.text(at, n)
	if !ok {
		return
	}
	word, every, timed := strings.Cut(strings.TrimSpace(text), " ")
	hint := "triggers: " + oneOf(plainTriggers) + ", and with a duration " + oneOf(timedTriggers)
	for _, kind := range plainTriggers {
		if word == string(kind) && !timed {
			t.Kind = kind
			return
		}
	}
	for _, kind := range timedTriggers {
		if word != string(kind) {
			continue
		}
		every, err := ParseDuration(strings.TrimSpace(every))
		if err != nil {
			d.fault(CodeInvalidValue, at, "for example "+word+" 5s", "trigger %s: %v", word, err)
			return
		}
		*t = Trigger{kind, every}
		return
	}
	d.fault(CodeInvalidValue, at, hint, "unknown trigger %q", text)
}

func (t Trigger) encode() *node {
	if t.Every == (Duration{}) {
		return newString(string(t.Kind))
	}
	return newString(string(t.Kind) + " " + t.Every.String())
}
