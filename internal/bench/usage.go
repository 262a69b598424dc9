package bench

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// usage is what this process and all processes below it have used so far.
type usage struct {
	at  time.Time
	cpu time.Duration // user and system, all threads
}

// span is what was used between two looks.
type span struct {
	Wall, CPU time.Duration
}

func (u usage) since(from usage) span { return span{Wall: u.at.Sub(from.at), CPU: u.cpu - from.cpu} }

// usageNow looks at this process, at those below it that have ended, and at those that run.
func usageNow() (usage, error) {
	u := usage{at: time.Now()}
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var r syscall.Rusage
		if err := syscall.Getrusage(who, &r); err != nil {
			return u, fmt.Errorf("getrusage: %w", err)
		}
		u.cpu += time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	below, err := cpuBelow(os.Getpid())
	u.cpu += below
	return u, err
}

// ticksPerSecond is the unit of times in /proc/PID/stat: USER_HZ, 100 on every architecture that Go runs on.
const ticksPerSecond = 100

// stat is what /proc/PID/stat says of a process.
type stat struct {
	pid, parent int
	ticks       int64 // CPU of itself and of its children that have ended
	started     int64 // ticks since the machine's start
}

// cpuBelow sums the CPU of the running processes below one.
func cpuBelow(root int) (time.Duration, error) {
	proc, err := os.Open("/proc")
	if err != nil {
		return 0, err
	}
	defer proc.Close()
	names, err := proc.Readdirnames(-1)
	if err != nil {
		return 0, err
	}
	children := map[int][]stat{}
	for _, name := range names {
		if name[0] < '0' || name[0] > '9' {
			continue // no process
		}
		s, err := readStat(filepath.Join("/proc", name, "stat"))
		if err != nil {
			continue // it has ended
		}
		children[s.parent] = append(children[s.parent], s)
	}
	ticks := int64(0)
	for level := children[root]; len(level) > 0; {
		var next []stat
		for _, s := range level {
			ticks += s.ticks
			next = append(next, children[s.pid]...)
		}
		level = next
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// Fields of /proc/PID/stat behind the command's name, from 0 (proc(5) counts the process's state as 3).
const (
	fieldParent  = 1
	fieldUser    = 11
	fieldSystem  = 12
	fieldUserOf  = 13 // of children that have ended
	fieldSysOf   = 14
	fieldStarted = 19
)

func readStat(file string) (stat, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return stat{}, err
	}
	end := bytes.LastIndexByte(text, ')') // the name may hold anything
	fields := bytes.Fields(text[end+1:])
	if end < 0 || len(fields) <= fieldStarted {
		return stat{}, fmt.Errorf("%s: unknown form", file)
	}
	var s stat
	if s.pid, err = strconv.Atoi(filepath.Base(filepath.Dir(file))); err != nil {
		s.pid = os.Getpid() // /proc/self
	}
	numbers := map[int]int64{}
	for _, i := range []int{fieldParent, fieldUser, fieldSystem, fieldUserOf, fieldSysOf, fieldStarted} {
		if numbers[i], err = strconv.ParseInt(string(fields[i]), 10, 64); err != nil {
			return stat{}, fmt.Errorf("%s: %w", file, err)
		}
	}
	s.parent, s.started = int(numbers[fieldParent]), numbers[fieldStarted]
	s.ticks = numbers[fieldUser] + numbers[fieldSystem] + numbers[fieldUserOf] + numbers[fieldSysOf]
	return s, nil
}

// usageAtStart is the usage at the moment this process began.
func usageAtStart() (usage, error) {
	s, err := readStat("/proc/self/stat")
	if err != nil {
		return usage{}, err
	}
	text, err := os.ReadFile("/proc/uptime")
	if err != nil {
		return usage{}, err
	}
	up, _, _ := bytes.Cut(text, []byte(" "))
	seconds, err := strconv.ParseFloat(string(up), 64)
	if err != nil {
		return usage{}, fmt.Errorf("/proc/uptime: %w", err)
	}
	age := time.Duration(seconds*float64(time.Second)) - time.Duration(s.started)*time.Second/ticksPerSecond
	return usage{at: time.Now().Add(-age)}, nil
}

// peakMemory is the most memory of this process that was resident, in bytes.
func peakMemory() (int64, error) {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for line := range bytes.Lines(text) {
		if rest, ok := bytes.CutPrefix(line, []byte("VmHWM:")); ok {
			kib, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("/proc/self/status: no VmHWM")
}
