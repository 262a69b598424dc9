package watch

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/worker/internal/live"
)

// kind is the type of an event.
type kind string

// The events of the API.
const (
	kindStage kind = "stage" // a stage begins, or is gone on with
	kindRow   kind = "row"
	kindGap   kind = "gap" // rows that were wanted are no longer kept
	// kindCommitted says that a checkpoint is complete: rows whose cp is below it stay.
	kindCommitted kind = "committed"
)

// event is one event, and where to go on behind it.
type event struct {
	kind kind
	at   live.Position
	data []byte // one line of JSON
	// checkpoint is that of a committed event.
	checkpoint ident.CheckpointID
}

func stageEvent(at live.Position) event {
	return event{kind: kindStage, at: clone(at), data: fmt.Appendf(nil, `{"stage":"%d"}`, at.Stage)}
}

func committedEvent(at live.Position, c ident.CheckpointID) event {
	return event{kind: kindCommitted, at: clone(at), data: fmt.Appendf(nil, `{"cp":"%d"}`, c), checkpoint: c}
}

// lostUnknown is the number of lost rows when it is not known, as live has it.
const lostUnknown = -1

// gapEvent says that rows are gone; a negative number is not known.
func gapEvent(at live.Position, lost int64) event {
	text := "null"
	if lost >= 0 {
		text = `"` + strconv.FormatInt(lost, 10) + `"`
	}
	return event{kind: kindGap, at: clone(at), data: []byte(`{"lost":` + text + `}`)}
}

// appendTo appends the event as it is sent.
func (e event) appendTo(dst []byte) []byte {
	return fmt.Appendf(dst, "id: %s\nevent: %s\ndata: %s\n\n", e.at, e.kind, e.data)
}

// heartbeat is a comment: it keeps proxies from closing a silent connection.
const heartbeat = ": heartbeat\n\n"

// maxLine bounds a line of another node's events: a row may be as large as a record.
const maxLine = 16 << 20

// readEvents reads another node's events until tell returns an error, which is returned, or the text ends: io.EOF.
func readEvents(from io.Reader, tell func(event) error) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxLine)
	var e event
	var id string
	for lines.Scan() {
		line := lines.Bytes()
		name, value, _ := bytes.Cut(line, []byte(": "))
		switch {
		case len(line) == 0 && e.kind != "":
			at, err := live.ParsePosition(id)
			if err != nil {
				return err
			}
			e.at = at
			if e.kind == kindCommitted {
				if err := json.Unmarshal(e.data, &struct {
					CP *ident.CheckpointID `json:"cp,string"`
				}{&e.checkpoint}); err != nil {
					return fmt.Errorf("event committed: %w", err)
				}
			}
			if err := tell(e); err != nil {
				return err
			}
			e = event{}
		case string(name) == "id":
			id = string(value)
		case string(name) == "event":
			e.kind = kind(value)
		case string(name) == "data":
			e.data = bytes.Clone(value)
		}
	}
	return errors.Join(lines.Err(), io.EOF)
}
