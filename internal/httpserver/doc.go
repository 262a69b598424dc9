// Package httpserver is what all services' HTTP APIs have in common.
//
// It owns: the router with its middleware, driven by the service's OpenAPI document (who may call an operation, how
// large its body may be, how long it may take, what its parameters and body look like); health, readiness, metrics and
// documents; bearer tokens; signed calls between services, both ends; the listener as a lifecycle.Service. It does not
// own: what operations do (the services' httpapi packages, through generated strict servers), or where tokens are kept.
//
// Order of the middleware, outermost first: observe (trace, log, metrics, recovery) → route → how many at once → who
// (token or signature) → deadline → parameters → form of the answer → body (size, encoding, type, form) → handler. A
// refused request changes nothing.
//
// Invariants: every error is application/problem+json, also of routes that do not exist; bad input is never a 5xx; a
// panic is one request's 500; an answer given before the body was read still reaches the client (T54, refuse.go).
//
// Start reading at New.
package httpserver
