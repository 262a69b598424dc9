package render

import "strconv"

// Count is a number of things: "1 partition", "2,000 partitions". The word is singular and takes an s.
func Count[N int | int64](n N, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Number(int64(n)) + " " + word + "s"
}

// Number writes a number with its thousands apart: 1,234,567.
func Number(n int64) string {
	const group = 3
	text := strconv.FormatInt(n, 10)
	for i := len(text) - group; i > 0 && text[i-1] != '-'; i -= group {
		text = text[:i] + "," + text[i:]
	}
	return text
}
