package devstack

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"

	embedded "github.com/fergusstrange/embedded-postgres"
)

// oldestMajor is the oldest Postgres that Pondage runs on: NULLS NOT DISTINCT (DESIGN §9) came with it.
const oldestMajor = 15

// installedAt is where Debian's packages and their kin put servers of several versions.
const installedAt = "/usr/lib/postgresql/*/bin"

// binaries are the programs of one version.
type binaries struct {
	dir   string
	major int
}

// findBinaries returns the directory of initdb and postgres: of the major version wanted where data of it exist, else
// the newest on the machine, else fetched.
func findBinaries(wanted string) (string, error) {
	found := installed()
	if wanted == "" {
		if len(found) > 0 {
			return found[0].dir, nil
		}
		return fetchBinaries()
	}
	for _, b := range found {
		if strconv.Itoa(b.major) == wanted {
			return b.dir, nil
		}
	}
	if dir, err := fetchBinaries(); err == nil && majorOf(dir) == wanted {
		return dir, nil
	}
	return "", fmt.Errorf("devstack: the data are of Postgres %s, which is not installed here: install it, or begin with an empty directory", wanted)
}

// installed lists what is on the machine and new enough, newest first.
func installed() []binaries {
	dirs, _ := filepath.Glob(installedAt) // the pattern is well formed
	if path, err := exec.LookPath("postgres"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			dirs = append(dirs, filepath.Dir(real))
		}
	}
	var found []binaries
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
			continue
		}
		if major, err := strconv.Atoi(majorOf(dir)); err == nil && major >= oldestMajor {
			found = append(found, binaries{dir, major})
		}
	}
	slices.SortStableFunc(found, func(a, b binaries) int { return cmp.Compare(b.major, a.major) })
	return found
}

var versionNumber = regexp.MustCompile(`\d+`)

// majorOf asks the server program for its version; "" where it does not run.
func majorOf(dir string) string {
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return ""
	}
	return versionNumber.FindString(string(out))
}

// fetchBinaries downloads the binaries, once, and returns their directory.
func fetchBinaries() (string, error) {
	base := filepath.Join(fetchedAt(), fmt.Sprintf("postgres-%s-%s", embedded.V18, runtime.GOARCH))
	bin := filepath.Join(base, "bin")
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err == nil {
		return bin, nil
	}
	scratch, err := os.MkdirTemp("", "pondage-postgres-")
	if err != nil {
		return "", explain("make a directory in", os.TempDir(), err)
	}
	defer os.RemoveAll(scratch)
	port, err := FreePort()
	if err != nil {
		return "", err
	}
	// The library fetches only on its way to a start. Ours is another one (its refuses root), so whether this start goes
	// well is of no interest: the programs are there or they are not.
	once := embedded.NewDatabase(embedded.DefaultConfig().Version(embedded.V18).Port(uint32(port)).
		BinariesPath(base).CachePath(scratch).RuntimePath(filepath.Join(scratch, "run")).
		DataPath(filepath.Join(scratch, "data")).Logger(io.Discard))
	startErr := once.Start()
	if startErr == nil {
		startErr = once.Stop()
	}
	if _, err := os.Stat(filepath.Join(bin, "postgres")); err != nil {
		return "", fmt.Errorf("devstack: no Postgres %d or newer is installed, and it cannot be fetched: %w: install one, or use a server of your own",
			oldestMajor, errors.Join(startErr, err))
	}
	return bin, nil
}

// fetchedAt is where fetched binaries are kept: where the user that runs the server can read them.
func fetchedAt() string {
	if os.Geteuid() != 0 {
		if cache, err := os.UserCacheDir(); err == nil {
			return filepath.Join(cache, "pondage")
		}
	}
	return "/var/cache/pondage"
}
