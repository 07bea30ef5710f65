// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package limit says which tests run, in which order, and for how long. Two environment variables decide, because Go's
// cache of test results knows them:
//
//   - LABELS is a label filter of Ginkgo, for instance "!Slow && !Timed". Empty, everything runs.
//   - SEED is the seed of Ginkgo: the order of containers, and every input that is drawn at random. Empty, it is 1, so that
//     two runs of the same tree do the same.
package limit

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
)

// The labels of what the gate leaves to `make check-all` (docs/develop/checks.md).
const (
	// Slow takes longer than what it checks is worth in every run.
	Slow = "Slow"
	// Timed asserts elapsed time, memory, processor time or a number of reads.
	Timed = "Timed"
	// Random draws its input, or its interruptions, at random.
	Random = "Random"
	// Flaky fails now and then for a reason that is not known yet. test/quarantine.txt says until when it may.
	Flaky = "Flaky"
)

// cleaningUp is the most that is kept for taking down what specs run against.
const cleaningUp = 5 * time.Minute

// Of configures Ginkgo by LABELS and SEED, and to end well before the deadline of a test: a fifth of the time, or
// cleaningUp, is left then. A filter given by --ginkgo.label-filter replaces LABELS. It is an argument for RunSpecs, and
// panics if SEED is no number, because a run with another seed would show nothing.
func Of(t interface{ Deadline() (time.Time, bool) }) types.SuiteConfig {
	config, _ := ginkgo.GinkgoConfiguration()
	config.RandomSeed = Seed()
	if config.LabelFilter == "" {
		config.LabelFilter = os.Getenv("LABELS")
	}
	if deadline, ok := t.Deadline(); ok {
		left := time.Until(deadline) //nolint:forbidigo // it is this process that has the deadline
		config.Timeout = min(config.Timeout, left-min(left/5, cleaningUp))
	}
	return config
}

// Seed is SEED, or 1. It panics if SEED is no whole number.
func Seed() int64 {
	text := os.Getenv("SEED")
	if text == "" {
		return 1
	}
	seed, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("SEED is %q; set it to a whole number", text))
	}
	return seed
}

// Labeled leaves out a test of Go's, which has no labels of its own, where LABELS leaves out specs with these labels.
func Labeled(t testing.TB, labels ...string) {
	t.Helper()
	if !Selected(labels...) {
		t.Skipf("LABELS=%q leaves out %v", os.Getenv("LABELS"), labels)
	}
}

// Selected reports whether LABELS admits a spec with these labels: for what runs in the gate too, but further elsewhere. It
// panics if LABELS is no filter.
func Selected(labels ...string) bool {
	filter, err := types.ParseLabelFilter(os.Getenv("LABELS"))
	if err != nil {
		panic(fmt.Sprintf("LABELS: %v", err))
	}
	return filter(labels)
}
