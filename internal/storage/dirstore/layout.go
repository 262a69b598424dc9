package dirstore

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/internal/manifest"
)

const (
	folderStages = "stages"
	folderTasks  = "tasks"
	droppedStart = "dropped-"

	suffixManifest = ".manifest"
	suffixFile     = ".file"
	suffixTmp      = ".tmp"
)

func (s *Store) stream(id ident.StreamID) string {
	return filepath.Join(s.root, strconv.FormatInt(int64(id), 10))
}

func (s *Store) stages(id ident.StreamID) string { return filepath.Join(s.stream(id), folderStages) }
func (s *Store) tasks(id ident.StreamID) string  { return filepath.Join(s.stream(id), folderTasks) }

// task is the directory of a task; the text was checked by whoever checked the manifest.
func (s *Store) task(id ident.StreamID, task string) string { return filepath.Join(s.tasks(id), task) }

func (s *Store) manifest(id ident.StreamID, task string, c ident.CheckpointID) string {
	return filepath.Join(s.task(id, task), manifestName(c))
}

func (s *Store) file(id ident.StreamID, f manifest.File) string {
	return filepath.Join(s.task(id, f.Task), fileName(f.Checkpoint, f.Hash))
}

func manifestName(c ident.CheckpointID) string {
	return strconv.FormatInt(int64(c), 10) + suffixManifest
}

func fileName(c ident.CheckpointID, h manifest.Hash) string {
	return fmt.Sprintf("%d-%s%s", c, h, suffixFile)
}

// tmpName is a new one, also among several hosts.
func tmpName(number int64) string { return fmt.Sprintf("%d-%s%s", number, rand.Text(), suffixTmp) }

// entry is a name in a task's directory.
type entry struct {
	name       string
	checkpoint ident.CheckpointID
	manifest   bool // else a file or a temporary one
}

// parse reads a name. What others have put there, such as a network file system's own files, is not ours to judge.
func parse(name string) (e entry, ok bool) {
	e.name = name
	number, isManifest := strings.CutSuffix(name, suffixManifest)
	if !isManifest {
		if !strings.HasSuffix(name, suffixFile) && !strings.HasSuffix(name, suffixTmp) {
			return e, false
		}
		number, _, _ = strings.Cut(name, "-")
	}
	n, err := strconv.ParseInt(number, 10, 64)
	e.checkpoint, e.manifest = ident.CheckpointID(n), isManifest
	return e, err == nil
}
