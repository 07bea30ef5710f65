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

// MemoryLimits are where the kernel tells a container how much memory it may have, with version 2 and with version 1 of
// control groups.
var MemoryLimits = []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}

// TuneMemory has the garbage collector run early, and all the more often the nearer the container's limit comes, which
// is in the first of the files that can be read. GOGC and GOMEMLIMIT override it. Why: docs/adr/0011-memory.md.
func TuneMemory(limits []string) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(50)
	}
	if limit := softLimit(limits); os.Getenv("GOMEMLIMIT") == "" && limit > 0 {
		debug.SetMemoryLimit(limit)
	}
}

// softLimit is seven tenths of the container's limit, and zero when there is none. The rest is for what the runtime does
// not count, the pages of the program above all, and for what comes between two collections.
func softLimit(files []string) int64 {
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err != nil || limit > math.MaxInt64/2 { // "max", or nearly all that a number can be
			return 0
		}
		return limit / 10 * 7
	}
	return 0
}
