package client

import (
	"bufio"
	"errors"
	"io"
	"strings"
)

// Event is one server-sent event.
type Event struct{ ID, Name, Data string }

// Events reads a stream of server-sent events (HTML living standard, §9.2.6).
type Events struct {
	r  *bufio.Reader
	id string // of the last event that had one
}

// NewEvents reads from r.
func NewEvents(r io.Reader) *Events { return &Events{r: bufio.NewReader(r)} }

// Next returns the next event. At the end it returns io.EOF; an event that was cut off is dropped.
func (e *Events) Next() (Event, error) {
	var event Event
	var data []string
	for {
		line, err := e.line()
		if err != nil {
			return Event{}, err
		}
		if line == "" {
			if data == nil {
				event = Event{}
				continue
			}
			event.ID, event.Data = e.id, strings.Join(data, "\n")
			return event, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field { // "" is a comment
		case "id":
			e.id = value
		case "event":
			event.Name = value
		case "data":
			data = append(data, value)
		}
	}
}

// line returns the next line of any length; what follows the last LF is no line.
func (e *Events) line() (string, error) {
	line, err := e.r.ReadString('\n')
	if errors.Is(err, io.EOF) {
		return "", io.EOF
	}
	if err != nil {
		return "", err
	}
	return strings.TrimRight(line, "\r\n"), nil
}
