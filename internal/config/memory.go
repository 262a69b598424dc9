package config

import (
	"bufio"
	"os"
	"strconv"
	"strings"
)

// fallbackMemory is taken for the machine's where it does not say.
const fallbackMemory = 4 * GiB

// machineMemory returns the memory that the process may use: the smaller of the machine's and its control group's.
func machineMemory() Size {
	total := meminfoTotal("/proc/meminfo")
	for _, limit := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if n, ok := readSize(limit); ok && n < total {
			total = n
		}
	}
	return total
}

func meminfoTotal(path string) Size {
	f, err := os.Open(path)
	if err != nil {
		return fallbackMemory
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		rest, ok := strings.CutPrefix(lines.Text(), "MemTotal:")
		if !ok {
			continue
		}
		if n, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64); err == nil {
			return Size(n) * KiB
		}
	}
	return fallbackMemory
}

func readSize(path string) (Size, bool) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	return Size(n), err == nil && n > 0
}
