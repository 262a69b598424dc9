package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
)

// Free space below which things go wrong soon, and below which they do.
const (
	fewBytes = 2 << 30
	noBytes  = 200 << 20
)

// disk looks at the place of the data directory.
func disk(_ context.Context, s *state) []Check {
	if _, err := os.Stat(s.cfg.DataDir); err != nil && s.running != nil && s.cfg.DataDir == config.DefaultDoctor().DataDir {
		return []Check{bad(Skipped, "disk", "data_dir", "what runs has its data elsewhere", "name their directory: --data-dir")}
	}
	dir, err := existing(s.cfg.DataDir)
	if err != nil {
		return []Check{bad(Failing, "disk", "data_dir", err.Error(), "name another with --data-dir")}
	}
	out := []Check{writable(s.cfg.DataDir, dir)}
	var fs syscall.Statfs_t
	if err := syscall.Statfs(dir, &fs); err != nil {
		return append(out, bad(Skipped, "disk", "space", err.Error(), ""))
	}
	free := int64(fs.Bavail) * fs.Bsize
	detail := fmt.Sprintf("%.1f GiB are free at %s", float64(free)/(1<<30), dir)
	switch {
	case free < noBytes:
		return append(out, bad(Failing, "disk", "space", detail, "free some space: nothing can be written"))
	case free < fewBytes:
		return append(out, bad(Warning, "disk", "space", detail, "free some space soon"))
	}
	return append(out, ok("disk", "space", detail))
}

// existing is the directory, or the nearest one above it that exists.
func existing(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for {
		info, err := os.Stat(abs)
		if err == nil && !info.IsDir() {
			return "", fmt.Errorf("%s is no directory", abs)
		}
		if err == nil {
			return abs, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
		abs = filepath.Dir(abs) // ends at the root, which exists
	}
}

// writable tries to write where the directory is or would be made.
func writable(dir, place string) Check {
	f, err := os.CreateTemp(place, ".pondage-doctor-*")
	if err != nil {
		return bad(Failing, "disk", "data_dir", fmt.Sprintf("%s: %v", dir, err), "let this user write there, or name another with --data-dir")
	}
	_ = f.Close()
	_ = os.Remove(f.Name())
	return ok("disk", "data_dir", dir+" can be written")
}

// ports looks whether the parts of a running cluster are reached from here; where none runs, at the ports that the roles
// take where nothing is said.
func ports(ctx context.Context, s *state) []Check {
	if s.running != nil {
		return s.running.reached(ctx, s.client.HTTP)
	}
	dev := config.DefaultDev()
	var out []Check
	for _, p := range []struct{ name, address, flag string }{
		{"coordinator", dev.HTTP.Listen, "--http-listen"},
		{"worker", config.DefaultWorker().HTTP.Listen, "--http-listen"},
		{"snapshotter", config.DefaultSnapshotter().HTTP.Listen, "--snapshotter-listen"},
		{"broker", dev.BrokerListen, "--broker-listen"},
	} {
		out = append(out, port(ctx, s, p.name, p.address, p.flag))
	}
	return out
}

// reached asks at every address that clients are sent to.
func (r *cluster) reached(ctx context.Context, c *http.Client) []Check {
	out := []Check{ok("ports", "coordinator", "Pondage answers at "+r.coordinator)}
	for _, w := range r.workers {
		name := "worker " + w.Node
		if isPondage(ctx, c, w.Address) {
			out = append(out, ok("ports", name, "Pondage answers at "+w.Address))
			continue
		}
		out = append(out, bad(Warning, "ports", name, w.Address+" does not answer here; clients are sent there to ingest and to read results",
			"let the worker name an address that its clients reach: --http-advertise"))
	}
	for _, b := range r.brokers {
		if isBroker(ctx, b) { // whether it ought to is told among the brokers
			out = append(out, ok("ports", "broker", "a Kafka broker answers at "+b))
		}
	}
	return out
}

func port(ctx context.Context, s *state, name, address, flag string) Check {
	l, err := net.Listen("tcp", address)
	switch {
	case err == nil:
		_ = l.Close()
		return ok("ports", name, address+" is free")
	case !errors.Is(err, syscall.EADDRINUSE):
		return bad(Failing, "ports", name, err.Error(), "choose another address: "+flag)
	case isPondage(ctx, s.client.HTTP, "http://"+address):
		return ok("ports", name, "Pondage answers at "+address)
	case isBroker(ctx, address):
		return ok("ports", name, "a Kafka broker answers at "+address)
	}
	return bad(Warning, "ports", name, address+" is in use by something that does not answer as Pondage or Kafka", "choose another address: "+flag)
}

// whoTimeout bounds the question who listens on a port: one who speaks another protocol often says nothing at all.
const whoTimeout = time.Second

// isPondage tells whether a service of Pondage answers at the URL.
func isPondage(ctx context.Context, c *http.Client, at string) bool {
	ctx, cancel := context.WithTimeout(ctx, whoTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at+"/healthz", nil)
	if err != nil {
		return false
	}
	answer, err := c.Do(request)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	var health common.Health
	return json.NewDecoder(answer.Body).Decode(&health) == nil && health.Status == "ok"
}

// mostSkew is how far clocks may be apart without a word. Nothing in Pondage compares two clocks, but limits on event
// times (max_future) and what people read in logs do.
const mostSkew = 5 * time.Second

// clock compares the clocks that were seen with this one.
func clock(_ context.Context, s *state) []Check {
	if len(s.skew) == 0 {
		return []Check{bad(Skipped, "clock", "skew", "no other clock was seen", "")}
	}
	var out []Check
	for _, k := range s.skew {
		name, apart := "skew to "+k.whose, k.ahead.Abs()
		if apart > mostSkew+k.exact {
			out = append(out, bad(Warning, "clock", name, fmt.Sprintf("%s apart", apart.Round(time.Second)), "set both by NTP: max_future takes event times by the worker's clock"))
			continue
		}
		out = append(out, ok("clock", name, fmt.Sprintf("less than %s", mostSkew+k.exact.Round(time.Millisecond))))
	}
	return out
}
