// Package explain says why a window is not out yet (DESIGN §6): what holds the watermark, partition by partition and
// channel by channel, and what becomes of the windows that hold a time.
//
// It owns: the words, what of the tasks' reports is shown, and the putting together of what several nodes know. It does
// not own: what decides a watermark (package watermark) or names a window (package window); it reads their own account.
//
// A node explains its own tasks (local); the one that is asked asks the others with tasks of the stream, with a scope that
// keeps them from asking in turn, and joins the answers (join). A node that does not answer is named in a note.
//
// All methods may be called from any goroutine. Start reading at Service.Explain.
package explain
