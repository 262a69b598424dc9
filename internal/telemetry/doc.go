// Package telemetry sets up logs, traces and metrics for a process (DESIGN §13).
//
// It owns: the logger (slog, JSON or text for people, with trace ids), the tracer provider (OTLP/HTTP when an endpoint
// is configured; otherwise one that records nothing and costs nothing), the meter provider with its Prometheus
// exposition, and the attribute keys of messaging spans. It does not own: any instrument; those are in the metrics.go of
// the package they measure.
//
// Nothing here is global: a process may have two (tests do). The OTel globals are left alone, so a library that reaches
// for them records nothing.
//
// Start reading at New.
package telemetry
