package failpoint

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Parse reads the text that switches points (doc.go). The error names everything that is wrong in the first rule that is.
func Parse(text string) (*Plan, error) {
	p := &Plan{rules: map[Point]*rule{}}
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		point, r, err := parseRule(part)
		if err != nil {
			return nil, fmt.Errorf("failpoint %q: %w", part, err)
		}
		if p.rules[point] != nil {
			return nil, fmt.Errorf("failpoint %q: %s is switched twice", part, point)
		}
		p.rules[point] = r
	}
	return p, nil
}

func parseRule(text string) (Point, *rule, error) {
	r := &rule{first: 1}
	// The time is behind the last @: an error's text may have one, so it is looked for behind the closing bracket.
	tail := strings.LastIndexByte(text, ')') + 1
	if at := strings.IndexByte(text[tail:], '@'); at >= 0 {
		if err := r.when(text[tail+at+1:]); err != nil {
			return "", nil, err
		}
		text = text[:tail+at]
	}
	name, action, given := strings.Cut(text, "=")
	info, known := find(Point(strings.TrimSpace(name)))
	if !known {
		return "", nil, fmt.Errorf("there is no point %q", name)
	}
	if !given {
		action = string(DoDie)
		if info.Kind == KindMisbehaviour {
			action = string(DoOn)
		}
	}
	var err error
	if r.action, err = parseAction(strings.TrimSpace(action)); err != nil {
		return "", nil, err
	}
	if (r.action.Do == DoOn) != (info.Kind == KindMisbehaviour) {
		return "", nil, fmt.Errorf("a %s cannot %q", info.Kind, r.action.Do)
	}
	return info.Point, r, nil
}

// when reads n or n+.
func (r *rule) when(text string) error {
	digits, plus := strings.CutSuffix(strings.TrimSpace(text), "+")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return fmt.Errorf("%q: want the number of a hit, from 1, or that and a plus", text)
	}
	r.first, r.always = n, plus
	return nil
}

func parseAction(text string) (Action, error) {
	name, arg, bracket := strings.Cut(text, "(")
	if bracket {
		var closed bool
		if arg, closed = strings.CutSuffix(arg, ")"); !closed {
			return Action{}, fmt.Errorf("%q: the bracket is not closed", text)
		}
	}
	a := Action{Do: Do(name)}
	var err error
	switch a.Do {
	case DoDie, DoOn:
		if bracket {
			err = fmt.Errorf("%s takes nothing in brackets", name)
		}
	case DoExit:
		if a.Status, err = strconv.Atoi(arg); err != nil || a.Status < 0 || a.Status > maxStatus {
			err = fmt.Errorf("exit(%s): want a status from 0 to %d", arg, maxStatus)
		}
	case DoError:
		if a.Err = system[arg]; a.Err == nil {
			a.Err = fmt.Errorf("%w: %s", ErrInjected, arg)
		}
	case DoSleep:
		if a.For, err = time.ParseDuration(arg); err != nil || a.For < 0 {
			err = fmt.Errorf("sleep(%s): want a duration such as 200ms", arg)
		}
	case DoWait:
		if a.File = arg; arg == "" {
			err = errors.New("wait() takes the path of a file")
		}
	default:
		err = fmt.Errorf("there is no action %q: want die, exit(status), error(text), sleep(duration), wait(file) or on", name)
	}
	return a, err
}

// maxStatus is the largest exit status that a parent sees whole.
const maxStatus = 255
