package httpserver

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"

	"github.com/pondage/pondage/internal/httpserver/contract"
	"github.com/pondage/pondage/internal/problem"
)

// Role is what a principal may do; each includes those before it.
type Role int

// The roles of people and their programs.
const (
	RoleViewer Role = 1 + iota
	RoleEditor
	RoleAdmin
)

// The values of x-pondage-role that are no Role.
const (
	roleNone    = "none"    // everyone
	roleCluster = "cluster" // services, by signature
)

var roleNames = map[string]Role{"viewer": RoleViewer, "editor": RoleEditor, "admin": RoleAdmin}

// ParseRole reads viewer, editor or admin.
func ParseRole(name string) (Role, bool) {
	r, ok := roleNames[name]
	return r, ok
}

// String returns the role's name.
func (r Role) String() string {
	for name, role := range roleNames {
		if role == r {
			return name
		}
	}
	return "no role"
}

// Principal is who a request comes from. The zero value is nobody in particular.
type Principal struct {
	Name string
	Role Role
}

// Authenticator returns whom a token belongs to. An unknown token is an error with code unauthenticated.
type Authenticator func(ctx context.Context, token string) (Principal, error)

// authorize lets a request pass that may call its operation.
func (s *Server) authorize(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		state := requestOf(r.Context())
		var err error
		switch state.op.Role {
		case roleNone:
		case roleCluster:
			err = s.verify(r, state.op)
		default:
			state.principal, err = s.principal(r, state.op.Role)
		}
		if err != nil {
			s.refuse(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// principal finds out who asks and whether the role is enough.
func (s *Server) principal(r *http.Request, needed string) (Principal, error) {
	if s.config.Authenticate == nil {
		return Principal{Role: RoleAdmin}, nil
	}
	if s.verifier != nil && r.Header.Get(headerSignature) != "" {
		return s.service(r, needed)
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Principal{}, problem.New(problem.CodeUnauthenticated, "the request has no bearer token")
	}
	p, err := s.config.Authenticate(r.Context(), strings.TrimSpace(token))
	if err != nil {
		return Principal{}, err
	}
	return p, permit(r, p, needed)
}

func permit(r *http.Request, p Principal, needed string) error {
	if want, ok := ParseRole(needed); !ok || p.Role < want {
		return problem.New(problem.CodeForbidden, "%s needs the role %s; %s has %s", requestOf(r.Context()).op.ID, needed, p.Name, p.Role)
	}
	return nil
}

// service lets a service of the cluster read what a viewer may: a worker asks the coordinator what a name means, and
// other workers for their part of an answer.
func (s *Server) service(r *http.Request, needed string) (Principal, error) {
	if err := s.verify(r, requestOf(r.Context()).op); err != nil {
		return Principal{}, err
	}
	p := Principal{Name: "a service of the cluster", Role: RoleViewer}
	return p, permit(r, p, needed)
}

// verify checks the signature of a call between services. The body is part of it and so has to be read first; it is put
// back.
func (s *Server) verify(r *http.Request, op *contract.Operation) error {
	if s.verifier == nil {
		return nil
	}
	body, err := io.ReadAll(limited(r.Body, op.MaxBody))
	if err != nil {
		return err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return s.verifier.verify(r, body)
}
