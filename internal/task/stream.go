package task

// StreamState is the state of a stream as a whole.
type StreamState string

// The states of a stream.
const (
	StreamCreating   StreamState = "creating"   // accepted; its first stage is not ready yet
	StreamRunning    StreamState = "running"    // all tasks of the stage are ready
	StreamRecovering StreamState = "recovering" // a further stage is being brought up
	StreamPausing    StreamState = "pausing"    // pause accepted, some task still reads
	StreamPaused     StreamState = "paused"
	StreamStopping   StreamState = "stopping" // stop accepted, some task still lives
	StreamStopped    StreamState = "stopped"
	StreamFinished   StreamState = "finished" // bounded run at its end, every sink has flushed
	StreamFailed     StreamState = "failed"   // ended by a named error, waits for a user
	StreamDropping   StreamState = "dropping"
)

// StreamStates lists the states of a stream in the order of the documents.
func StreamStates() []StreamState {
	return []StreamState{
		StreamCreating, StreamRunning, StreamRecovering, StreamPausing, StreamPaused,
		StreamStopping, StreamStopped, StreamFinished, StreamFailed, StreamDropping,
	}
}

// Wanted is what users want of a stream. It is a column of its own: any reset, failover or restart ends in it.
type Wanted string

// The wanted states.
const (
	WantRunning Wanted = "running"
	WantPaused  Wanted = "paused"
	WantStopped Wanted = "stopped"
)

// StreamEvent is what can happen to a stream: what a user asks for, or what the tasks have come to.
type StreamEvent string

// The events of a stream.
const (
	StreamPause    StreamEvent = "pause"  // user
	StreamResume   StreamEvent = "resume" // user
	StreamStop     StreamEvent = "stop"   // user
	StreamStart    StreamEvent = "start"  // user; a new stage
	StreamDrop     StreamEvent = "drop"   // user
	StreamReset    StreamEvent = "reset"  // a new stage because a task, process or edge was lost
	StreamAllReady StreamEvent = "all_ready"
	// StreamAllPaused and the following are what the last task has reported.
	StreamAllPaused   StreamEvent = "all_paused"
	StreamAllStopped  StreamEvent = "all_stopped"
	StreamAllFinished StreamEvent = "all_finished"
	StreamFail        StreamEvent = "fail"
)

// StreamEvents lists the events of a stream in the order of the documents.
func StreamEvents() []StreamEvent {
	return []StreamEvent{
		StreamPause, StreamResume, StreamStop, StreamStart, StreamDrop, StreamReset,
		StreamAllReady, StreamAllPaused, StreamAllStopped, StreamAllFinished, StreamFail,
	}
}

const (
	// byWanted stands for running, pausing or stopping, as the wanted state says.
	byWanted StreamState = "(as wanted)"
	// same leaves the state alone: only the wanted state changes.
	same StreamState = "(the same)"
)

// streamTable is the table beside the one of tasks: state → event → target.
var streamTable = map[StreamState]map[StreamEvent]StreamState{
	StreamCreating: {
		StreamPause: same, StreamResume: same, StreamAllReady: byWanted, StreamReset: StreamRecovering,
		StreamStop: StreamStopping, StreamFail: StreamFailed, StreamDrop: StreamDropping,
	},
	StreamRunning: {
		StreamPause: StreamPausing, StreamResume: same, StreamStart: same, StreamAllFinished: StreamFinished,
		StreamReset: StreamRecovering, StreamStop: StreamStopping, StreamFail: StreamFailed, StreamDrop: StreamDropping,
	},
	StreamRecovering: {
		StreamPause: same, StreamResume: same, StreamStart: same, StreamAllReady: byWanted, StreamReset: StreamRecovering,
		StreamStop: StreamStopping, StreamFail: StreamFailed, StreamDrop: StreamDropping,
	},
	StreamPausing: {
		StreamPause: same, StreamResume: StreamRunning, StreamAllPaused: StreamPaused, StreamAllFinished: StreamFinished,
		StreamReset: StreamRecovering, StreamStop: StreamStopping, StreamFail: StreamFailed, StreamDrop: StreamDropping,
	},
	StreamPaused: {
		StreamPause: same, StreamResume: StreamRunning,
		StreamReset: StreamRecovering, StreamStop: StreamStopping, StreamFail: StreamFailed, StreamDrop: StreamDropping,
	},
	StreamStopping: {
		StreamStop: same, StreamAllStopped: StreamStopped, StreamFail: StreamFailed, StreamDrop: StreamDropping,
	},
	StreamStopped: {
		StreamStop: same, StreamStart: StreamRecovering, StreamDrop: StreamDropping,
	},
	StreamFinished: {
		StreamStop: StreamStopping, StreamDrop: StreamDropping,
	},
	StreamFailed: {
		StreamStart: StreamRecovering, StreamStop: StreamStopping, StreamDrop: StreamDropping,
	},
	StreamDropping: {
		StreamDrop: same,
	},
}

// wantedTable says which events change what is wanted, and to what.
var wantedTable = map[StreamEvent]Wanted{
	StreamPause: WantPaused, StreamResume: WantRunning, StreamStart: WantRunning, StreamStop: WantStopped,
}

// wantedStates says where byWanted leads.
var wantedStates = map[Wanted]StreamState{WantRunning: StreamRunning, WantPaused: StreamPausing, WantStopped: StreamStopping}

// StreamStatus is the pair that the metastore keeps of a stream.
type StreamStatus struct {
	State  StreamState
	Wanted Wanted
}

// Step returns the status after the event. The error is a *RefusedError; the status is unchanged then.
func (s StreamStatus) Step(e StreamEvent) (StreamStatus, error) {
	target, ok := streamTable[s.State][e]
	if !ok {
		return s, &RefusedError{State: string(s.State), Event: string(e)}
	}
	if w, ok := wantedTable[e]; ok {
		s.Wanted = w
	}
	switch target {
	case same:
	case byWanted:
		s.State = wantedStates[s.Wanted]
	default:
		s.State = target
	}
	return s, nil
}
