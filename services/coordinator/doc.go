// Package coordinator wires the coordinator: REST API, planner, placement, heartbeat monitor (DESIGN §§2, 11).
//
// It owns: which parts there are and how they hang together. It does not own: any of their behaviour. Start reading at
// New; the application layer is internal/control, the API internal/httpapi.
package coordinator
