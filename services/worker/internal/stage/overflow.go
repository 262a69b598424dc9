package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/state/overflow"
	"github.com/pondage/pondage/services/worker/internal/memory"
	"github.com/pondage/pondage/services/worker/internal/task"
)

// Overflow is what the windows of a node may use: memory, and a directory for the rest. What lies there is of no use to
// another process: who makes the engine has emptied it.
type Overflow struct {
	Memory *memory.Shares // nil: no bound
	Dir    string
}

// windows is a task's part of the node's Overflow, until the run ends.
func (s *starting) windows(id ident.Task) task.Windows {
	o := s.r.engine.Overflow
	if o.Memory == nil || !s.plan.Windowed() {
		return task.Windows{}
	}
	share := o.Memory.Join()
	stream := filepath.Join(o.Dir, strconv.FormatInt(int64(s.r.id), 10))
	s.r.atEnd(func() {
		share.Close()
		_ = os.Remove(stream) // with the last of its tasks; until then it is not empty
	})
	return task.Windows{Bytes: share.Bytes, Open: func() (task.Spill, error) {
		spill, err := overflow.Open(filepath.Join(stream, fmt.Sprintf("%s-%d", id, s.r.stage)))
		if err != nil {
			return nil, fmt.Errorf("open the place for windows of %s: %w", id, err)
		}
		return spill, nil
	}}
}
