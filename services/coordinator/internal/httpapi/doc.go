// Package httpapi answers the coordinator's HTTP API with what package control offers.
//
// It owns: the forms of the API (conversions, ETags, redirects to workers), and the SQL endpoint, which does what a
// statement asks for by the same calls as the REST operations. It does not own: any rule about sources, streams or nodes
// (control), what documents mean (language), or middleware (httpserver).
//
// Handlers are thin: read the request, one call of control, convert. Errors are returned; convertError names those of
// control.
//
// Start reading at Mount; then one file a resource.
package httpapi
