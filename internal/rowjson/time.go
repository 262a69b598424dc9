package rowjson

import "time"

// timeCache keeps the text of the last time written: neighbouring rows mostly share their window.
type timeCache struct {
	ms   int64
	text []byte
}

func (t *timeCache) append(dst []byte, ms int64) []byte {
	if t.ms != ms || len(t.text) == 0 {
		t.ms, t.text = ms, AppendTime(t.text[:0], ms)
	}
	return append(dst, t.text...)
}

// AppendTime appends a time in ms since the epoch as a quoted RFC 3339 time in UTC with milliseconds.
func AppendTime(dst []byte, ms int64) []byte {
	dst = append(dst, '"')
	dst = AppendTimeText(dst, ms)
	return append(dst, '"')
}

// AppendTimeText is AppendTime without the quotes.
func AppendTimeText(dst []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}
