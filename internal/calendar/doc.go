// Package calendar answers the one question about zones that the standard library answers wrongly for windows: when does
// a date begin where the clocks jump (DESIGN §8).
//
// It owns: the first instant of a wall-clock time in a zone. It does not own: which windows there are (package window),
// the parts of a time in SQL (package expr); both ask here, so that a window and date_trunc never disagree.
//
// The package is pure; zones come in from the caller.
package calendar
