package devstack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockFile is held while a directory is in use; it has the holder's process id.
const lockFile = "lock"

// ErrLocked says that another process uses the directory.
var ErrLocked = errors.New("the directory is in use")

// Lock is the exclusive use of a data directory, held until Unlock or the end of the process.
type Lock struct{ file *os.File }

// LockDir locks dir, which is made where missing. A directory that another process holds is refused with ErrLocked,
// naming its pid.
func LockDir(dir string) (*Lock, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, explain("make the directory", dir, err)
	}
	path := filepath.Join(dir, lockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, explain("lock the directory", dir, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%s: %w by process %s: stop it, or choose another directory", dir, ErrLocked, holder(path))
		}
		return nil, explain("lock the directory", dir, err)
	}
	if err := writePID(file); err != nil {
		file.Close()
		return nil, explain("write "+lockFile, dir, err)
	}
	return &Lock{file: file}, nil
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// holder returns the pid in a lock file.
func holder(path string) string {
	text, err := os.ReadFile(path)
	pid := strings.TrimSpace(string(text))
	if err != nil || pid == "" {
		return "(unknown)"
	}
	return pid
}

// Unlock gives the directory free. Only the first call counts.
func (l *Lock) Unlock() error {
	if l.file == nil {
		return nil
	}
	file := l.file
	l.file = nil
	return file.Close() // closing ends the lock; the file stays, removing it would race with the next holder
}
