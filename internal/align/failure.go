package align

import "fmt"

// Code says in one word why a checkpoint fails at a task. Shells bring further ones (WriteFailed).
type Code string

// The codes of this package.
const (
	CodeNotReady   Code = "not_ready"    // the task's state takes no checkpoint
	CodeOtherStage Code = "other_stage"  // the request is of another stage
	CodeNoSource   Code = "no_source"    // only source tasks are asked
	CodeBusy       Code = "busy"         // another checkpoint is being taken
	CodeVoid       Code = "void"         // older than the newest one answered or settled, or another transaction of it
	CodeTimeout    Code = "timeout"      // the time that came with the request or the trigger is over
	CodeLost       Code = "trigger_lost" // an upstream's trigger lies behind this task's position
	CodeNotRunning Code = "not_running"  // an upstream does not take the checkpoint
)

// Failure is why a checkpoint fails at a task.
type Failure struct {
	Code   Code
	Detail string // for people
}

func (f Failure) String() string {
	if f.Detail == "" {
		return string(f.Code)
	}
	return fmt.Sprintf("%s: %s", f.Code, f.Detail)
}

// late says what the part was waiting for when its time was over.
func (p *part) late() string {
	if p.phase == aligning {
		return fmt.Sprintf("no trigger from %v", p.missing)
	}
	return "the state is still being written"
}
