package expr

import (
	"strings"
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/invalid"
	"github.com/pondage/pondage/internal/sql"
)

// timePart is a part of a time that can be taken out of it or to which it can be cut.
type timePart string

const (
	partMillisecond timePart = "millisecond"
	partSecond      timePart = "second"
	partMinute      timePart = "minute"
	partHour        timePart = "hour"
	partDay         timePart = "day"
	partWeek        timePart = "week"
	partMonth       timePart = "month"
	partQuarter     timePart = "quarter"
	partYear        timePart = "year"
)

// truncParts are the units of date_trunc; fixedParts are those that are a number of milliseconds.
var (
	truncParts = []string{"millisecond", "second", "minute", "hour", "day", "week", "month", "quarter", "year"}
	fixedParts = map[timePart]int64{partMillisecond: 1, partSecond: msSecond, partMinute: msMinute, partHour: msHour}
)

// extractors take a part out of a time in its zone.
var extractors = map[string]func(t time.Time) int64{
	"year":        func(t time.Time) int64 { return int64(t.Year()) },
	"quarter":     func(t time.Time) int64 { return int64(t.Month()-1)/3 + 1 },
	"month":       func(t time.Time) int64 { return int64(t.Month()) },
	"week":        func(t time.Time) int64 { _, week := t.ISOWeek(); return int64(week) },
	"day":         func(t time.Time) int64 { return int64(t.Day()) },
	"day_of_year": func(t time.Time) int64 { return int64(t.YearDay()) },
	"day_of_week": func(t time.Time) int64 { return int64(isoWeekday(t)) },
	"hour":        func(t time.Time) int64 { return int64(t.Hour()) },
	"minute":      func(t time.Time) int64 { return int64(t.Minute()) },
	"second":      func(t time.Time) int64 { return int64(t.Second()) },
	"millisecond": func(t time.Time) int64 { return int64(t.Nanosecond()) / int64(time.Millisecond) },
	"epoch":       func(t time.Time) int64 { return t.Unix() },
}

// extractAliases are the names of other dialects.
var extractAliases = map[string]string{"doy": "day_of_year", "isodow": "day_of_week", "dow": "day_of_week"}

// extractNames are the parts in the order of the documentation.
var extractNames = []string{"year", "quarter", "month", "week", "day", "day_of_year", "day_of_week", "hour", "minute", "second", "millisecond", "epoch"}

func timeFunctions() []function {
	fs := []function{
		{Function: Function{Signature: "to_timestamp(int64|string[, unit]) → timestamp", Doc: "the time that is so many units ('s', 'ms', 'us', 'ns'; default ms) after the epoch, or the RFC 3339 text"}, least: 1, most: 2, check: checkToTimestamp},
		{Function: Function{Signature: "date_trunc(unit, timestamp[, zone]) → timestamp", Doc: "the beginning of the " + strings.Join(truncParts, ", ") + " in the zone; weeks begin on Monday"}, least: 2, most: 3, check: checkDateTrunc},
		{Function: Function{Signature: "extract(part, timestamp[, zone]) → int64", Doc: "a part of the time in the zone: " + strings.Join(extractNames, ", ") + " (Monday is 1); also EXTRACT(part FROM ts)"}, least: 2, most: 3, check: checkExtract},
		plain("epoch_ms(timestamp) → int64", "the milliseconds since the epoch", block.Int64, copyInts, 1, block.Timestamp),
		{Function: Function{Signature: "format_time(timestamp, pattern[, zone]) → string", Doc: "the time as text: " + patternDoc}, least: 2, most: 3, check: checkFormatTime},
	}
	for _, part := range extractNames {
		fs = append(fs, function{
			Function: Function{Signature: part + "(timestamp[, zone]) → int64", Doc: "the same as extract('" + part + "', timestamp)"}, least: 1, most: 2,
			check: func(c *checker, e *sql.Call, args []*node) *node { return c.extract(e, extractors[part], args) },
		})
	}
	return fs
}

// timeAndZone types the last arguments of a time function: the timestamp and the zone, a literal.
func (c *checker) timeAndZone(e *sql.Call, args []*node) (*node, *time.Location) {
	zone := c.zone
	if len(args) > 1 {
		name, ok := c.constantText(e, args[1], "the zone")
		if !ok {
			return nil, nil
		}
		zone = c.namedZone(name)
		if zone == nil {
			c.fail(args[1].src, CodeBadLiteral, "write an IANA name such as 'Europe/Berlin'", "%q is not a time zone", name)
			return nil, nil
		}
	}
	if !c.params(e, args[:1], []block.Type{block.Timestamp}) {
		return nil, nil
	}
	return args[0], zone
}

// namedZone returns the zone, nil when it is not known. "Local" and "" are the host's zone to package time, and no zone
// here.
func (c *checker) namedZone(name string) *time.Location {
	zones, ok := c.scope.(ZoneFinder)
	switch {
	case name == "UTC":
		return time.UTC
	case !ok || name == "" || name == "Local":
		return nil
	}
	zone, err := zones.Zone(name)
	if err != nil {
		return nil
	}
	return zone
}

// oneOfNames reads a literal that must be one of the names.
func (c *checker) oneOfNames(e *sql.Call, n *node, what string, names []string, aliases map[string]string) (string, bool) {
	name, ok := c.constantText(e, n, what)
	if !ok {
		return "", false
	}
	name = strings.ToLower(name)
	if full, ok := aliases[name]; ok {
		name = full
	}
	for _, known := range names {
		if known == name {
			return name, true
		}
	}
	hint := "one of " + strings.Join(names, ", ")
	if near := invalid.Nearest(name, names); near != "" {
		hint = "did you mean '" + near + "'?"
	}
	c.fail(n.src, CodeBadLiteral, hint, "%s does not know %s %q", e.Name, what, name)
	return "", false
}

func checkDateTrunc(c *checker, e *sql.Call, args []*node) *node {
	name, ok := c.oneOfNames(e, args[0], "the unit", truncParts, nil)
	t, zone := c.timeAndZone(e, args[1:])
	if !ok || t == nil {
		return nil
	}
	unit := timePart(name)
	return strict(e, block.Timestamp, each(func(c *call, i int32) fault {
		ms, ok := inRange(truncate(c.intArg(0, i), unit, zone))
		if !ok {
			return faultOverflow
		}
		c.out.col.Int[i] = ms
		return faultNone
	}), t)
}

func checkExtract(c *checker, e *sql.Call, args []*node) *node {
	name, ok := c.oneOfNames(e, args[0], "the part", extractNames, extractAliases)
	if !ok {
		return nil
	}
	return c.extract(e, extractors[name], args[1:])
}

func (c *checker) extract(e *sql.Call, part func(time.Time) int64, args []*node) *node {
	t, zone := c.timeAndZone(e, args)
	if t == nil {
		return nil
	}
	return strict(e, block.Int64, each(func(c *call, i int32) fault {
		c.out.col.Int[i] = part(time.UnixMilli(c.intArg(0, i)).In(zone))
		return faultNone
	}), t)
}

// epochUnits are the units of to_timestamp: how many make a millisecond (negative: how many milliseconds one is).
var epochUnits = map[string]int64{"s": -msSecond, "ms": 1, "us": 1000, "ns": 1_000_000}

func checkToTimestamp(c *checker, e *sql.Call, args []*node) *node {
	if len(args) == 1 {
		if kind := args[0].typ.Kind; kind != block.KindInt64 && kind != block.KindString && !args[0].isNull() {
			return c.fail(e, CodeTypeClash, registry[e.Name].Signature, "to_timestamp needs int64 or string, not %s", typeName(args[0]))
		}
		return c.castTo(e, args[0], block.Timestamp)
	}
	name, ok := c.oneOfNames(e, args[1], "the unit", []string{"s", "ms", "us", "ns"}, nil)
	if !ok || !c.params(e, args[:1], []block.Type{block.Int64}) {
		return nil
	}
	unit := epochUnits[name]
	return strict(e, block.Timestamp, each(func(c *call, i int32) fault {
		v, fits := c.intArg(0, i), true
		if unit < 0 {
			v, fits = mulInt(v, -unit)
		} else {
			v = (v - floorMod(v, unit)) / unit
		}
		v, ok := inRange(v)
		if !ok || !fits {
			return faultOverflow
		}
		c.out.col.Int[i] = v
		return faultNone
	}), args[0])
}
