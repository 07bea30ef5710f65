// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// memory is what need not survive the operator. What is forgotten is a restart more at worst.
type memory struct {
	// attended are the sources that the operator has seen since it started. A write before that may have changed the
	// content and changed it back.
	attended *Cache[attendedSource, struct{}]
	// confirmed are the numbers of the last restarts after whose end the baseline was seen, by the object's UID.
	confirmed *Cache[types.UID, int64]
	// hanging are the numbers of the last restarts whose rollouts had not ended when they were last looked at.
	hanging *Cache[types.UID, int64]
	// reached are the workloads that pending restarts have marked and whose rest has yielded, by the object's UID.
	reached *Cache[types.UID, reachedWorkloads]
}

func newMemory() memory {
	return memory{
		attended:  NewCache[attendedSource, struct{}](Remembered),
		confirmed: NewCache[types.UID, int64](Remembered),
		hanging:   NewCache[types.UID, int64](Remembered),
		reached:   NewCache[types.UID, reachedWorkloads](Remembered),
	}
}

// forget drops what is remembered of an object that is gone. Of its sources the Cache bounds what is remembered.
func (m memory) forget(namespace string, uid types.UID) {
	m.confirmed.Remove(namespace, uid)
	m.hanging.Remove(namespace, uid)
	m.reached.Remove(namespace, uid)
}

type reachedWorkloads struct {
	mark string
	all  []common.RestartedWorkload
}

// yield remembers which workloads the pending restart has reached, until the rest of it is done.
func (m memory) yield(req Request) {
	s := req.Status
	m.reached.Add(req.Object.GetNamespace(), req.Object.GetUID(), reachedWorkloads{s.Pending.Mark, slices.Clone(s.Workloads)})
}

// resume notes the workloads that the pending restart had reached when it yielded: a mark that was taken off since is not
// set again.
func (m memory) resume(req Request) {
	namespace, uid := req.Object.GetNamespace(), req.Object.GetUID()
	last, known := m.reached.Get(namespace, uid)
	if !known {
		return
	}
	req.Told(func() { m.reached.Remove(namespace, uid) })
	for _, w := range last.all {
		if last.mark == req.Status.Pending.Mark && w.Number == req.Status.Pending.Number {
			reach(req.Status, w)
		}
	}
}

type attendedSource struct {
	object types.UID
	source string
}

// attend tells which sources were seen before, and remembers the others once the status is written.
func (m memory) attend(req Request) {
	for i := range req.Observed {
		o := &req.Observed[i]
		source := attendedSource{req.Object.GetUID(), o.Source}
		_, attended := m.attended.Get(req.Object.GetNamespace(), source)
		o.unattended = !attended
		req.Told(func() { m.attended.Add(req.Object.GetNamespace(), source, struct{}{}) })
	}
}

// confirms reports whether the baseline was seen after the end of the last restart.
func (m memory) confirms(req Request) bool { return isLast(m.confirmed, req) }

// hangs reports whether the rollouts of the last restart had not ended when they were last looked at.
func (m memory) hangs(req Request) bool { return isLast(m.hanging, req) }

func isLast(numbers *Cache[types.UID, int64], req Request) bool {
	number, known := numbers.Get(req.Object.GetNamespace(), req.Object.GetUID())
	return known && number == req.Status.Number
}

// hang notes whether workloads still roll for the last restart.
func (m memory) hang(req Request, states []state) bool {
	if !unfinished(req.Status, states) {
		m.hanging.Remove(req.Object.GetNamespace(), req.Object.GetUID())
		return false
	}
	m.hanging.Add(req.Object.GetNamespace(), req.Object.GetUID(), req.Status.Number)
	return true
}

// confirm notes that everything observed is the baseline, and that no workload rolls.
func (m memory) confirm(req Request, states []state) {
	rolls := func(w state) bool { _, rolls := inProgress(req.Status, w); return w.rolling || rolls }
	if req.Status.Number > 0 && len(req.Observed) == len(req.Status.Observed) && !slices.ContainsFunc(states, rolls) {
		m.confirmed.Add(req.Object.GetNamespace(), req.Object.GetUID(), req.Status.Number)
	}
}
