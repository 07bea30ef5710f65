// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// Remembered is of how many objects, or sources of objects, something is remembered that need not survive the operator.
const Remembered = 10_000

// memory is what need not survive the operator. What is forgotten is a restart more at worst.
type memory struct {
	// attended are the sources that the operator has seen since it started. A write before that may have changed the
	// content and changed it back.
	attended *lru.Cache
	// confirmed are the numbers of the last restarts after whose end the baseline was seen, by the object's UID.
	confirmed *lru.Cache
	// hanging are the numbers of the last restarts whose rollouts had not ended when they were last looked at.
	hanging *lru.Cache
}

func newMemory() memory { return memory{lru.New(Remembered), lru.New(Remembered), lru.New(Remembered)} }

type attendedSource struct {
	object types.UID
	source string
}

// attend tells which sources were seen before, and remembers the others once the status is written.
func (m memory) attend(req Request) {
	for i := range req.Observed {
		o := &req.Observed[i]
		source := attendedSource{req.Object.GetUID(), o.Source}
		_, attended := m.attended.Get(source)
		o.unattended = !attended
		req.Told(func() { m.attended.Add(source, nil) })
	}
}

// confirms tells whether the baseline was seen after the end of the last restart.
func (m memory) confirms(req Request) bool { return isLast(m.confirmed, req) }

// hangs tells whether the rollouts of the last restart had not ended when they were last looked at.
func (m memory) hangs(req Request) bool { return isLast(m.hanging, req) }

func isLast(numbers *lru.Cache, req Request) bool {
	number, known := numbers.Get(req.Object.GetUID())
	return known && number == req.Status.Number
}

// hang notes whether workloads still roll for the last restart.
func (m memory) hang(req Request, states []state) bool {
	if !unfinished(req.Status, states) {
		m.hanging.Remove(req.Object.GetUID())
		return false
	}
	m.hanging.Add(req.Object.GetUID(), req.Status.Number)
	return true
}

// confirm notes that everything observed is the baseline, and that no workload rolls.
func (m memory) confirm(req Request, states []state) {
	rolls := func(w state) bool { _, rolls := inProgress(req.Status, w); return w.rolling || rolls }
	if req.Status.Number > 0 && len(req.Observed) == len(req.Status.Observed) && !slices.ContainsFunc(states, rolls) {
		m.confirmed.Add(req.Object.GetUID(), req.Status.Number)
	}
}
