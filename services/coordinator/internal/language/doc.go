// Package language says what the documents and statements of users mean, in the words of the API: the result schema of
// a stream, its plan as text, its graph, what a SQL statement asks for, what a sample of records suggests.
//
// It owns: the way from spec, sql and plan to what the API shows. It does not own: any rule about documents (those
// packages do), or doing what a statement asks for (package httpapi, through control).
//
// It is pure: no I/O but the zone rules, which the binary carries. Start reading at Language.
package language
