package expr

import (
	"time"

	"github.com/pondage/pondage/internal/block"
	"github.com/pondage/pondage/internal/sql"
)

// patternDoc names the placeholders of format_time.
const patternDoc = "%Y year, %m month, %d day, %H hour, %M minute, %S second, %L millisecond, %j day of the year, %u weekday (Monday is 1), %V ISO week, %G its year, %z offset, %% a %"

// placeholders write a part of a time. The layouts are those of package time.
var placeholders = map[byte]func(dst []byte, t time.Time) []byte{
	'Y': layout("2006"),
	'm': layout("01"),
	'd': layout("02"),
	'H': layout("15"),
	'M': layout("04"),
	'S': layout("05"),
	'j': layout("002"),
	'z': layout("-07:00"),
	'L': func(dst []byte, t time.Time) []byte { return padded(dst, t.Nanosecond()/int(time.Millisecond), 3) },
	'u': func(dst []byte, t time.Time) []byte { return padded(dst, isoWeekday(t), 1) },
	'V': func(dst []byte, t time.Time) []byte { _, week := t.ISOWeek(); return padded(dst, week, 2) },
	'G': func(dst []byte, t time.Time) []byte { year, _ := t.ISOWeek(); return padded(dst, year, 4) },
	'%': func(dst []byte, _ time.Time) []byte { return append(dst, '%') },
}

func layout(l string) func(dst []byte, t time.Time) []byte {
	return func(dst []byte, t time.Time) []byte { return t.AppendFormat(dst, l) }
}

// padded appends n with leading zeros.
func padded(dst []byte, n, width int) []byte {
	start := len(dst)
	for range width {
		dst = append(dst, '0')
	}
	for at := len(dst) - 1; at >= start && n > 0; at-- {
		dst[at] = '0' + byte(n%10)
		n /= 10
	}
	return dst
}

func checkFormatTime(c *checker, e *sql.Call, args []*node) *node {
	pattern, ok := c.constantText(e, args[1], "the pattern")
	if ok && !validPattern(pattern) {
		c.fail(args[1].src, CodeBadLiteral, patternDoc, "pattern %q has an unknown placeholder", pattern)
		ok = false
	}
	t, zone := c.timeAndZone(e, append([]*node{args[0]}, args[2:]...))
	if !ok || t == nil {
		return nil
	}
	return strict(e, block.String, eachText(func(c *call, dst []byte, i int32) ([]byte, fault) {
		return formatTime(dst, time.UnixMilli(c.intArg(0, i)).In(zone), pattern), faultNone
	}), t)
}

func validPattern(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			continue
		}
		i++
		if i == len(pattern) || placeholders[pattern[i]] == nil {
			return false
		}
	}
	return true
}

// formatTime writes a time by a valid pattern.
func formatTime(dst []byte, t time.Time, pattern string) []byte {
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '%' {
			dst = append(dst, pattern[i])
			continue
		}
		i++
		dst = placeholders[pattern[i]](dst, t)
	}
	return dst
}
