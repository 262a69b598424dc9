// Package httpapi answers the worker's HTTP API with what the packages of the worker offer.
//
// It owns: the forms of the API, the way from a request to the one package that answers it, and how streamed answers
// begin, go on and break. It does not own: any of the answers, or middleware (httpserver).
//
// Handlers are thin: read the request, one call, convert. An answer that is streamed begins with its first bytes: an
// error before them is a problem document; an error after them breaks the connection, so that the client cannot take
// half of it for all (Stream). Each write of such an answer has a deadline of its own: a client that reads slowly gets
// all the time that it makes use of, one that reads nothing is let go.
//
// Start reading at Mount.
package httpapi
