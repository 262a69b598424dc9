// Package failpoint names the places where a test build can be made to die, wait, fail or misbehave.
//
// It owns: the list of points, the text that switches them, what an action does. It does not own: the places (the
// packages that Point.Where names call Hit or On there), who switches them (test/chaos, internal/sim).
//
// A shell calls
//
//	if err := failpoint.Hit(failpoint.StorageFileBeforeSync); err != nil { // between two steps of durability or protocol
//		return err
//	}
//	if failpoint.On(failpoint.DropOneBlock) { // a fault of our own code, to show that the checkers find it
//		return nil
//	}
//
// In a build without the tag "failpoints" both are empty and inlined: the branch is gone from the program. With the tag,
// a process switches its points by PONDAGE_FAILPOINTS when it starts, and a text that cannot be read ends it at once.
//
// # The text
//
//	point[=action][@n[+]]; …
//
// A point begins at its n-th hit (1 where none is given) and acts once, or with a plus at every hit from then on. Actions:
//
//	die           kill -9 of the own process; what a place does where none is given
//	exit(status)  exit at once, without closing anything
//	error(text)   Hit returns this error; ENOSPC, EIO and EDQUOT are those of the system
//	sleep(2s)     Hit returns after that
//	wait(file)    Hit returns when there is such a file, an error after a minute without
//	on            On returns true; all that a misbehaviour can do, and does where none is given
//
// Cores are pure and have no failpoints: what goes wrong in one is what its shell does with its effects. A simulation
// parses a Plan of its own and asks it; nothing is shared between two runs then, and no tag is needed.
//
// Start reading at Plan. The list: points.go.
package failpoint
