// Package invalid says what is wrong with an input that a user wrote: a spec, a statement, an expression.
//
// It owns: the shape of one fault (code, place, text, hint) and the collection of many, so that a user hears everything
// that is wrong at once. It does not own: HTTP (package problem turns an Error into a problem document) or the list of
// codes (the catalogue of package problem; a test there checks that every code used here exists).
package invalid
