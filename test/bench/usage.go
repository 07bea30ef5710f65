// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"
)

// userHz is the unit of processor times under /proc; Linux shows it to programs as 100 a second.
const userHz = 100

// usage is how much processor time has been used up to a moment, in seconds.
type usage struct {
	at time.Time
	// all is that of everything on the machine, ours that of the cluster, the operator and the bench, own that of the
	// operator or what else is measured.
	all, ours, own float64
}

// load is what happened on the processors between two readings.
type load struct {
	// CPUSeconds is the processor time of the cluster, the operator and the bench.
	CPUSeconds float64 `json:"cpuSeconds"`
	// Others is the share of the machine's processors, 0 to 1, that everything else had.
	Others float64 `json:"others"`
}

func (u usage) since(before usage) load {
	available := u.at.Sub(before.at).Seconds() * float64(runtime.NumCPU())
	ours := u.ours - before.ours
	return load{CPUSeconds: ours, Others: max(0, (u.all-before.all-ours)/available)}
}

// usage reads the processor times. The operator may be nil.
func (b *bench) usage(operator *process) (usage, error) {
	if operator == nil {
		return b.usageWith(nil)
	}
	return b.usageWith(operator.pids)
}

// usageWith reads the processor times when there are processes to measure beside the cluster's. The function may be nil.
func (b *bench) usageWith(measured func() ([]string, error)) (u usage, err error) {
	u.at = time.Now()
	pids := []string{strconv.Itoa(os.Getpid())}
	files, err := filepath.Glob(b.path(".cluster", b.clusterName, "pids", "*"))
	if err != nil {
		return u, err
	}
	for _, file := range files {
		pid, err := os.ReadFile(file)
		if err != nil {
			return u, fmt.Errorf("finding the cluster's processes: %w", err)
		}
		pids = append(pids, string(pid))
	}
	if u.ours, err = ticksOf(pids); err != nil {
		return u, err
	}
	if measured != nil {
		if pids, err = measured(); err != nil {
			return u, err
		}
		if u.own, err = ticksOf(pids); err != nil {
			return u, err
		}
		u.ours += u.own
	}
	// user, nice, system; then idle and waiting, which do not count; irq, softirq, stolen.
	u.all, err = readTicks("/proc/stat", "cpu ", 0, 1, 2, 5, 6, 7)
	return u, err
}

// ticksOf is the processor time of processes.
func ticksOf(pids []string) (seconds float64, err error) {
	for _, pid := range pids {
		// The name, in parentheses, may hold anything; user and system time are the 12th and 13th after it.
		ticks, err := readTicks(filepath.Join("/proc", pid, "stat"), ") ", 11, 12)
		if err != nil {
			return 0, err
		}
		seconds += ticks
	}
	return seconds, nil
}

// readTicks adds up fields of the first line of a file, counted from what stands last before them.
func readTicks(path, before string, fields ...int) (seconds float64, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return 0, fmt.Errorf("reading processor times: %w", err)
	}
	line, _, _ := strings.Cut(string(data), "\n")
	words := strings.Fields(line[strings.LastIndex(line, before)+len(before):])
	for _, i := range fields {
		if i >= len(words) {
			return 0, fmt.Errorf("reading processor times: %s has only %d fields", path, len(words))
		}
		ticks, err := strconv.ParseFloat(words[i], 64)
		if err != nil {
			return 0, fmt.Errorf("reading processor times: %w", err)
		}
		seconds += ticks / userHz
	}
	return seconds, nil
}
