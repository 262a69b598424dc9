package node

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/google/uuid"

	"github.com/pondage/pondage/internal/ident"
)

// identityFile is the node's identity in its data directory; lockFile keeps a second process out.
const (
	identityFile = "node.json"
	lockFile     = "node.lock"
)

// ErrLocked says that another process runs on the data directory.
var ErrLocked = errors.New("the data directory is in use by another process")

// Identity is who this process is. It is read, and its instance counter raised, once at process start. Its methods may be
// called from any goroutine.
type Identity struct {
	Node     ident.NodeID
	Instance ident.Instance

	dir  string
	lock *os.File

	mu     sync.Mutex // held while the file is replaced: what was learned is on disk before anybody else reads it
	stored stored
}

// stored is the file's content. It is replaced whole: written beside, synced, renamed, the directory synced.
type stored struct {
	Node    ident.NodeID `json:"node"`
	Counter uint64       `json:"counter"`
	Cluster string       `json:"cluster,omitempty"` // cluster id, learned at the first registration
	Term    ident.Term   `json:"term,omitempty"`    // the highest that the node was told
}

// OpenIdentity locks the data directory and begins a new instance of its node: the counter on disk rises before this
// returns, so that no two runs are ever the same instance.
//
// Errors: ErrLocked; otherwise the file system's.
func OpenIdentity(dir string) (*Identity, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("node identity: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("node identity: %w", err)
	}
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		lock.Close()
		return nil, fmt.Errorf("node identity: %s: %w (stop it, or use another --data)", dir, ErrLocked)
	}
	id := &Identity{dir: dir, lock: lock}
	if err := id.begin(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("node identity: %s: %w", dir, err)
	}
	return id, nil
}

func (id *Identity) begin() error {
	text, err := os.ReadFile(filepath.Join(id.dir, identityFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		id.stored = stored{Node: ident.NodeID(uuid.NewString())}
	case err != nil:
		return err
	default:
		err := json.Unmarshal(text, &id.stored)
		if err == nil && id.stored.Node == "" {
			err = errors.New("it names no node")
		}
		if err != nil {
			return fmt.Errorf("%s is damaged: a node without its identity must start with an empty data directory: %w", identityFile, err)
		}
	}
	id.stored.Counter++
	var random [4]byte
	if _, err := rand.Read(random[:]); err != nil {
		return err
	}
	if err := id.save(); err != nil {
		return err
	}
	id.Node = id.stored.Node
	id.Instance = ident.Instance{Counter: id.stored.Counter, Random: binary.BigEndian.Uint32(random[:])}
	return nil
}

// Cluster returns the id of the cluster the node belongs to, "" before the first registration.
func (id *Identity) Cluster() string {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.stored.Cluster
}

// Term returns the highest coordinator term that the node was ever told.
func (id *Identity) Term() ident.Term {
	id.mu.Lock()
	defer id.mu.Unlock()
	return id.stored.Term
}

// Learn keeps the cluster's id and the term, fsynced, before it returns. A lower term changes nothing. After an error
// nothing has changed either: what is not on disk is not known.
func (id *Identity) Learn(cluster string, term ident.Term) error {
	id.mu.Lock()
	defer id.mu.Unlock()
	if id.stored.Cluster == cluster && term <= id.stored.Term {
		return nil
	}
	before := id.stored
	id.stored.Cluster = cluster
	id.stored.Term = max(term, id.stored.Term)
	if err := id.save(); err != nil {
		id.stored = before
		return fmt.Errorf("node identity: %w", err)
	}
	return nil
}

// Close lets another process have the directory.
func (id *Identity) Close() { id.lock.Close() }

func (id *Identity) save() error {
	text, err := json.Marshal(id.stored)
	if err != nil {
		return err
	}
	final := filepath.Join(id.dir, identityFile)
	f, err := os.CreateTemp(id.dir, identityFile+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(append(text, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err != nil {
		return err
	}
	if err := os.Rename(f.Name(), final); err != nil {
		return err
	}
	return syncDir(id.dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
