// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

const (
	writeEvery  = 100 * time.Millisecond
	createEvery = 20 // writes
	createMost  = 15 // objects
	writeLimit  = 15 * time.Second
	roundLabel  = "round"

	// What may be lost while the operator is replaced is a pod's start, on a machine that is busy. Usual are 0 s and 2 s.
	mostRefused = 30 * time.Second
	mostMissed  = time.Minute
)

// writer creates and changes AcmeNamespaces while something else happens, and remembers what was accepted.
type writer struct {
	prefix string
	stop   context.CancelFunc
	ended  chan struct{}

	// Valid once it has ended.
	accepted map[string]string // the last accepted value of the label, by object
	unsure   map[string]bool   // the last write of the object was refused, or its answer was lost
	names    []string
	writes   int
	slowest  time.Duration
	refused  stretches // of writes
	missed   stretches // in which the webhook did not answer, so that the schema alone was checked
}

// stretches are the times for which something lasted.
type stretches struct {
	since   time.Time // zero while it does not last
	lengths []time.Duration
	errs    []error
}

// note records whether it lasts, as of a start.
func (s *stretches) note(start time.Time, goesOn bool, err error) {
	switch {
	case goesOn && s.since.IsZero():
		s.since = start
		s.errs = append(s.errs, err)
	case !goesOn && !s.since.IsZero():
		s.lengths = append(s.lengths, time.Since(s.since))
		s.since = time.Time{}
	}
}

func (s *stretches) longest() time.Duration {
	return slices.Max(append(s.lengths, 0)).Round(time.Millisecond)
}

// startWriter starts a writer that ends with the spec at the latest.
func (w *world) startWriter(prefix string) *writer {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(context.Background())
	l := &writer{prefix: prefix, stop: cancel, ended: make(chan struct{}), accepted: map[string]string{}, unsure: map[string]bool{}}
	c := w.client
	go func() {
		defer close(l.ended)
		l.work(ctx, c)
	}()
	DeferCleanup(l.end)
	return l
}

func (l *writer) end() {
	l.stop()
	<-l.ended
}

// work writes until ctx ends. A write that was begun is finished, so that what was accepted is known.
func (l *writer) work(ctx context.Context, c client.Client) {
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		start := time.Now()
		err := l.write(context.WithoutCancel(ctx), c)
		l.writes++
		l.slowest = max(l.slowest, time.Since(start))
		l.refused.note(start, err != nil, err)
		start = time.Now()
		err = l.probe(context.WithoutCancel(ctx), c)
		l.missed.note(start, err == nil, nil)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	l.refused.note(time.Time{}, false, nil)
	l.missed.note(time.Time{}, false, nil)
}

// probe asks for what only the webhook refuses.
func (l *writer) probe(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	return c.Create(ctx, newForbidden(), client.DryRunAll)
}

// write creates an object or changes one.
func (l *writer) write(ctx context.Context, c client.Client) error {
	ctx, cancel := context.WithTimeout(ctx, writeLimit)
	defer cancel()
	round := strconv.Itoa(l.writes)
	if len(l.names) == 0 || (l.writes%createEvery == 0 && len(l.names) < createMost) {
		return l.create(ctx, c, round)
	}
	return l.change(ctx, c, l.names[l.writes%len(l.names)], round)
}

func (l *writer) create(ctx context.Context, c client.Client, round string) error {
	name := fmt.Sprintf("%s-%d", l.prefix, len(l.names))
	err := c.Create(ctx, &tenancyv1alpha1.AcmeNamespace{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: tenancyv1alpha1.AcmeNamespaceSpec{
			NamespaceName: "app-" + name, AdminUsername: teamAdmin,
			Labels: map[string]tenancyv1alpha1.LabelValue{roundLabel: tenancyv1alpha1.LabelValue(round)},
		},
	})
	if apierrors.IsAlreadyExists(err) { // the answer of an earlier try was lost
		err = l.change(ctx, c, name, round)
	}
	if err != nil {
		return err
	}
	l.names = append(l.names, name)
	l.accepted[name] = round
	return nil
}

func (l *writer) change(ctx context.Context, c client.Client, name, round string) error {
	patch := client.RawPatch(client.Merge.Type(), fmt.Appendf(nil, `{"spec":{"labels":{%q:%q}}}`, roundLabel, round))
	err := c.Patch(ctx, &tenancyv1alpha1.AcmeNamespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, patch)
	if l.unsure[name] = err != nil; err == nil {
		l.accepted[name] = round
	}
	return err
}

// report ends the writer, prints its figures, and expects that they are within bounds, and that everything it wrote is there
// and has been acted upon.
func (l *writer) report(ctx context.Context, during string) {
	GinkgoHelper()
	l.end()
	Expect(l.accepted).NotTo(BeEmpty())
	say("%s: %d writes of %d objects, slowest %s, longest stretch of refused writes %s, longest stretch without the webhook %s",
		during, l.writes, len(l.accepted), l.slowest.Round(time.Millisecond), l.refused.longest(), l.missed.longest())
	for i, err := range l.refused.errs {
		say("refused for %s: %v", l.refused.lengths[i].Round(time.Millisecond), err)
	}
	Expect(l.refused.longest()).To(BeNumerically("<=", mostRefused), "the longest stretch of refused writes")
	Expect(l.missed.longest()).To(BeNumerically("<=", mostMissed), "the longest stretch without the webhook")
	for _, name := range slices.Sorted(maps.Keys(l.accepted)) {
		if l.unsure[name] {
			eventually(ctx, name+" is written again", soon, func(g Gomega) { g.Expect(l.change(ctx, lab.client, name, "again")).To(Succeed()) })
		}
		eventually(ctx, name+" is as it was written last, and its namespace with it", installed, func(g Gomega) {
			n := &tenancyv1alpha1.AcmeNamespace{}
			g.Expect(lab.client.Get(ctx, client.ObjectKey{Name: name}, n)).To(Succeed())
			g.Expect(n.Spec).To(Equal(tenancyv1alpha1.AcmeNamespaceSpec{
				NamespaceName: "app-" + name, AdminUsername: teamAdmin, DeploymentTier: "dev",
				Labels: map[string]tenancyv1alpha1.LabelValue{roundLabel: tenancyv1alpha1.LabelValue(l.accepted[name])},
			}))
			c := meta.FindStatusCondition(n.Status.Conditions, "Ready")
			g.Expect(c).NotTo(BeNil())
			g.Expect(c.ObservedGeneration).To(Equal(n.Generation))
			g.Expect(c.Status).To(Equal(metav1.ConditionTrue), c.Message)
			ns := &corev1.Namespace{}
			g.Expect(lab.client.Get(ctx, client.ObjectKey{Name: "app-" + name}, ns)).To(Succeed())
			g.Expect(ns.Labels).To(HaveKeyWithValue(roundLabel, l.accepted[name]))
		})
	}
	say("nothing is lost and nothing is wrong: all %d objects and their namespaces are as they were written last", len(l.accepted))
}

// tenantPods are the pods of a tenant.
func (w *world) tenantPods(ctx context.Context) map[string]int32 {
	GinkgoHelper()
	return w.podsIn(ctx, teamNamespace)
}

// podsIn are the pods of a namespace, by UID, with the number of their restarts.
func (w *world) podsIn(ctx context.Context, namespace string) map[string]int32 {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Expect(w.client.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
	found := map[string]int32{}
	for _, pod := range pods.Items {
		for _, c := range pod.Status.ContainerStatuses {
			found[pod.Name+" "+string(pod.UID)] += c.RestartCount
		}
	}
	Expect(found).NotTo(BeEmpty())
	return found
}
