// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/acme/platform-operator/api/views/v1alpha1"
)

// wantTaken compares the namespaces that are to be read, which are not any more then.
func wantTaken(t *testing.T, s *Source, why string, names ...string) {
	t.Helper()
	got, _, _ := s.take()
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("%s: %v, not %v", why, got, names)
	}
}

// Quotas change with every pod: their namespaces are read once a second at most, and sooner if something else changed.
func TestQuotasAreReadOnceASecond(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	s := &Source{clock: now, dirty: map[string]bool{}, usage: map[string]bool{}, wake: make(chan struct{}, 1)}
	s.markUsage("a")
	wantTaken(t, s, "the first time", "a")
	s.markUsage("a")
	s.markUsage("b")
	wantTaken(t, s, "at once")
	s.mark("b", "c")
	wantTaken(t, s, "something else", "b", "c")
	if d, waiting := s.usageDue(); !waiting || d != usageInterval {
		t.Errorf("due in %s, %v", d, waiting)
	}
	now.Step(usageInterval)
	wantTaken(t, s, "a second later", "a", "b")
	if _, waiting := s.usageDue(); waiting {
		t.Error("nothing waits any more")
	}
}

// The horizon of a snapshot does not include a change of a quota that still waits: readers who have seen that change would get the
// usage of before. A snapshot that differs in its horizon alone would wake all watches, and fill the history.
func TestTheHorizonWaitsForQuotas(t *testing.T) {
	s := offline(t)
	quotas := s.handler(func(_, o metav1.Object) { s.markUsage(o.GetNamespace()) })
	quota := func(version, used string) {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "q", ResourceVersion: version}}
		q.Status.Used = corev1.ResourceList{corev1.ResourcePods: resource.MustParse(used)}
		add(t, s.informer.quotas, q)
		quotas.OnUpdate(q, q)
	}
	namespace := func(name, version string) {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "1", ResourceVersion: version}}
		add(t, s.informer.namespaces, n)
		s.handler(func(_, o metav1.Object) { s.mark(o.GetName()) }).OnAdd(n, false)
	}
	want := func(why string, horizon uint64, pods int64) {
		t.Helper()
		s.publish()
		row, _ := s.Now().NamespaceUsage(master, "a")
		used := row.Object.(*v1alpha1.NamespaceUsage).Resources[corev1.ResourcePods].Used
		if used.Value() != pods || s.Now().Horizon != horizon {
			t.Errorf("%s: the horizon is %d with %s pods, not %d with %d", why, s.Now().Horizon, used, horizon, pods)
		}
	}
	namespace("a", "10")
	quota("20", "1")
	want("all is new", 20, 1)
	before := s.Now()
	quota("30", "2")
	want("the quota waits", 20, 1)
	if s.Now() != before {
		t.Error("there is a snapshot without a change")
	}
	namespace("b", "40")
	want("something else has changed meanwhile", 21, 1)
	s.clock.(*clocktesting.FakeClock).Step(usageInterval)
	want("the quota waits no longer", 40, 2)
}

// A snapshot comes one burst after the first change, however many changes follow that one.
func TestASnapshotComesAfterABurst(t *testing.T) {
	s := offline(t)
	now := s.clock.(*clocktesting.FakeClock)
	s.publish()
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	running.Go(func() { s.follow(ctx) })
	before := s.Now()
	const marks = 10
	for i := range marks {
		name := fmt.Sprint("space-", i)
		add(t, s.informer.namespaces, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
		s.mark(name)
		until(t, now.HasWaiters)
		if s.Now() != before {
			t.Fatalf("there is a snapshot after %s", time.Duration(i)*burst/marks)
		}
		now.Step(burst / marks)
	}
	until(t, func() bool { return s.Now() != before })
	if got := s.Now().Gettable(master); len(got) != marks {
		t.Errorf("the snapshot has %v of %d namespaces", got, marks)
	}
}
