package control

import (
	"context"

	"github.com/pondage/pondage/internal/ident"
	"github.com/pondage/pondage/services/coordinator/internal/control/decide"
)

// API is what the coordinator offers. Errors are *Error (operational, with a catalogue code), *invalid.Error (faults of
// an input), or internal. Every method ends by its context's deadline.
type API interface {
	CheckpointAPI

	CreateSource(ctx context.Context, r Request, doc []byte) (Source, error)
	ListSources(ctx context.Context, p Page) (List[Source], error)
	GetSource(ctx context.Context, name string) (Source, error)
	// ReplaceSource changes a source for the streams made from now on; existing ones keep what they were made with.
	ReplaceSource(ctx context.Context, r Request, name string, doc []byte) (Source, error)
	DeleteSource(ctx context.Context, r Request, name string) error

	CreateStream(ctx context.Context, r Request, doc []byte) (Stream, error)
	// CheckOutputs tells whether what a stream would write to has, if it is there, the stream's shape; else the error has
	// CodeTargetMismatch. What cannot be looked at passes: it may be there when the stream is made.
	CheckOutputs(ctx context.Context, source, stream []byte) error
	ListStreams(ctx context.Context, p Page) (List[Stream], error)
	GetStream(ctx context.Context, name string) (Stream, error)
	// StreamTasks lists the tasks of the stream's stage with what they last reported.
	StreamTasks(ctx context.Context, name string) ([]TaskStatus, error)
	// ActOnStream asks for a change of the wanted state; the answer is the stream as accepted, not yet as done. A
	// repeated action that is already wanted changes nothing and is answered the same.
	ActOnStream(ctx context.Context, r Request, name string, a Action) (Stream, error)

	// ListEvents lists what happened, newest first; stream "" means all.
	ListEvents(ctx context.Context, stream string, p Page) (List[Event], error)

	RegisterNode(ctx context.Context, reg Registration) (Registered, error)
	Heartbeat(ctx context.Context, hb Heartbeat) (HeartbeatAnswer, error)
	ListNodes(ctx context.Context) ([]Node, error)
	ListVGroups(ctx context.Context) ([]VGroup, error)
	Cluster(ctx context.Context) (ClusterInfo, error)
	// Leader tells who leads, as far as this replica knows; it asks nobody.
	Leader() Leader

	// CreateToken makes an API token and returns its text, which is kept only as a hash. A repetition with the same
	// idempotency key has the same text.
	CreateToken(ctx context.Context, r Request, name string, role Role) (string, error)
	ListTokens(ctx context.Context) ([]Token, error)
	DeleteToken(ctx context.Context, name string) error
	// Authenticate returns whom a token's text belongs to; an unknown one is CodeUnauthenticated.
	Authenticate(ctx context.Context, token string) (Principal, error)

	// Checks are the named readiness checks: metastore, lease, nodes.
	Checks(ctx context.Context) []Check
}

// Request is what every change carries beside its content.
type Request struct {
	// Principal is who asks; part of the scope of an idempotency key. "" when authentication is off.
	Principal string
	// IdempotencyKey is the header's value; "" when absent.
	IdempotencyKey string
	// IfMatch is the version that the change is made for (the ETag's number); 0 when absent.
	IfMatch int64
}

// Page asks for a part of a list. Cursor is opaque, from List.Next; Limit 0 means DefaultPage.
type Page struct {
	Cursor string
	Limit  int
}

// The sizes of pages.
const (
	DefaultPage = 100
	MaxPage     = 1000
)

// List is a part of a list.
type List[T any] struct {
	Items []T
	Next  string // "" at the end
}

// Action is a change that a user asks for: drop, stop, reset, pause, resume or start.
type Action = decide.Action

// Role says what a principal may do.
type Role string

// The roles, each including the one before.
const (
	RoleViewer Role = "viewer"
	RoleEditor Role = "editor"
	RoleAdmin  Role = "admin"
)

// Principal is who a request comes from.
type Principal struct {
	Name string
	Role Role
}

// Check is a named readiness check; Err nil means it passed.
type Check struct {
	Name string
	Err  error
}

// Leader tells who leads. Holder is its address, or its URL where that is not http; "" while nobody does.
type Leader struct {
	Term   ident.Term
	Holder string
	Self   bool
}
