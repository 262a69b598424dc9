package devstack

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is the user that a Postgres server runs as: nil is this process's own.
type owner struct {
	name     string
	uid, gid uint32
}

// serverUser returns who is to run the server: Postgres refuses root.
func serverUser() (*owner, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU == nil && errG == nil && uid != 0 {
			return &owner{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
		}
	}
	return nil, errors.New("devstack: Postgres does not run as root, and this machine has neither a user postgres nor nobody: " +
		"run as another user, or use a Postgres of your own")
}

// run makes the command run as the owner.
func (o *owner) run(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if o != nil {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: o.uid, Gid: o.gid}
	}
	cmd.Env = append(os.Environ(), "LC_ALL=C", "TZ=UTC")
}

// own gives a file to the owner.
func (o *owner) own(path string) error {
	if o == nil {
		return nil
	}
	if err := os.Chown(path, int(o.uid), int(o.gid)); err != nil {
		return explain("give to user "+o.name, path, err)
	}
	return nil
}

// canEnter tells, by an explained error, whether the owner can reach dir: every directory above it must let it through.
func (o *owner) canEnter(dir string) error {
	if o == nil {
		return nil
	}
	for at := dir; ; at = filepath.Dir(at) {
		info, err := os.Stat(at)
		if err != nil {
			return explain("look at", at, err)
		}
		if !o.passes(info) {
			return fmt.Errorf("devstack: Postgres runs as user %s here, not as root, and that user cannot enter %s (mode %v): "+
				"choose a directory outside of it, or allow it by chmod o+x", o.name, at, info.Mode().Perm())
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

// passes tells whether the mode of a directory lets the owner through.
func (o *owner) passes(info os.FileInfo) bool {
	const search = 0o1
	mode := info.Mode().Perm()
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && stat.Uid == o.uid:
		mode >>= 6
	case ok && stat.Gid == o.gid:
		mode >>= 3
	}
	return mode&search != 0
}
