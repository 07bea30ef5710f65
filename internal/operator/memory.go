// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// MemoryLimits are the files with the memory limit of the container, of version 2 and version 1 of control
// groups.
var MemoryLimits = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// TuneMemory makes the garbage collector run early, and more often close to the container's limit, which it
// reads from the first readable file. GOGC and GOMEMLIMIT override it. Why: docs/adr/0011-memory.md.
func TuneMemory(limits []string) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	if limit := softLimit(limits); os.Getenv("GOMEMLIMIT") == "" && limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// softLimit returns seven tenths of the container's limit, and zero if there is none. The rest is for memory
// that the runtime does not count, mainly the pages of the program, and for allocations between two
// collections.
func softLimit(files []string) int64 {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || limit > math.MaxInt64/2 { // "max", or nearly the largest number
			return 0
		}
		return limit / 10 * 7
	}
	return 0
}
