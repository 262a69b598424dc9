package snapshotter

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"github.com/pondage/pondage/internal/api/common"
	"github.com/pondage/pondage/internal/config"
	"github.com/pondage/pondage/internal/httpserver"
	"github.com/pondage/pondage/internal/lifecycle"
	"github.com/pondage/pondage/internal/problem"
	"github.com/pondage/pondage/internal/telemetry"
	"github.com/pondage/pondage/openapi"
	"github.com/pondage/pondage/services/snapshotter/internal/httpapi"
)

// Snapshotter is one node's snapshotter.
type Snapshotter struct {
	dataDir  string
	url      string
	listener *httpserver.Listener
}

// dirMode keeps checkpoints from other users of the machine.
const dirMode = 0o700

// New wires a snapshotter, makes its data directory where it is missing and opens its port.
func New(cfg config.Snapshotter, version common.Version, tel *telemetry.Telemetry) (*Snapshotter, error) {
	if err := os.MkdirAll(cfg.DataDir, dirMode); err != nil {
		return nil, fmt.Errorf("snapshotter: data_dir: %w", err)
	}
	s := &Snapshotter{dataDir: cfg.DataDir}
	handler, err := s.handler(cfg.Security, version, tel)
	if err != nil {
		return nil, fmt.Errorf("snapshotter: %w", err)
	}
	if s.listener, err = httpserver.Listen(cfg.HTTP.Listen, handler, tel.Logger); err != nil {
		return nil, fmt.Errorf("snapshotter: %w", err)
	}
	s.url = cfg.HTTP.Advertise
	if s.url == "" {
		s.url = "http://" + s.listener.Addr().String()
	}
	return s, nil
}

func (s *Snapshotter) handler(security config.Security, version common.Version, tel *telemetry.Telemetry) (http.Handler, error) {
	document, err := openapi.Document(openapi.Snapshotter)
	if err != nil {
		return nil, err
	}
	secret, err := security.ClusterSecret.Resolve()
	if err != nil {
		return nil, fmt.Errorf("security.cluster_secret: %w", err)
	}
	authenticate, err := authenticator(security)
	if err != nil {
		return nil, err
	}
	server, err := httpserver.New(httpserver.Config{
		Document: document, Telemetry: tel, Checks: s.checks, Authenticate: authenticate, ClusterSecret: []byte(secret),
	})
	if err != nil {
		return nil, err
	}
	httpapi.Mount(server, version)
	return server.Handler(), nil
}

// authenticator knows the administrator of the configuration only: people have no business at a snapshotter. It is nil
// where everyone may do everything.
func authenticator(security config.Security) (httpserver.Authenticator, error) {
	if security.Auth == config.AuthOff {
		return nil, nil
	}
	refuse := func(context.Context, string) (httpserver.Principal, error) {
		return httpserver.Principal{}, problem.New(problem.CodeUnauthenticated, "the snapshotter knows no such token: it takes the administrator's (security.admin_token) only")
	}
	if !security.AdminToken.Set() {
		return refuse, nil
	}
	token, err := security.AdminToken.Resolve()
	if err != nil {
		return nil, fmt.Errorf("security.admin_token: %w", err)
	}
	return httpserver.StaticToken(token, httpserver.Principal{Name: "admin", Role: httpserver.RoleAdmin}, refuse), nil
}

// checks tells whether the data directory takes files: a full or read-only disk shows before a checkpoint needs it.
func (s *Snapshotter) checks(context.Context) []httpserver.Check {
	return []httpserver.Check{{Name: "data_dir", Err: probe(s.dataDir)}}
}

// probe writes a byte into the directory and removes it again.
func probe(dir string) error {
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("%w: mend the directory or free space on its disk", err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // what is left over is found by its name
	_, err = f.Write([]byte{0})
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%w: free space on its disk", err)
	}
	return nil
}

// URL is where the API is reached.
func (s *Snapshotter) URL() string { return s.url }

// Services are the parts to start, in order.
func (s *Snapshotter) Services() []*lifecycle.Service {
	return []*lifecycle.Service{s.listener.Service("snapshotter http")}
}
