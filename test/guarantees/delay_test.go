// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// older puts into every kind what the parsers of its fields cannot read, as a schema without patterns would have let it in, while the operator runs;
// and starts the operator with it.
func older(ctx context.Context, all []*kind) {
	GinkgoHelper()
	restore := sync.OnceValue(func() error { return testenv.InstallDefinitions(Plane) })
	DeferCleanup(restore)
	loosen(ctx, readCRDs()...)
	op := start()
	var poisoned []client.Object
	clean := restarted(op, all)
	for _, k := range all {
		bad, namespace := 0, unique("g15-bad")
		k.surround(k.object(namespace))
		before := k.serves(nil)
		withPoison := k.goesOn(before, func() {
			for _, p := range k.places() {
				for _, s := range p.poison() {
					poisoned = append(poisoned, k.poisoned(ctx, namespace, p, s))
					bad++
				}
			}
		})
		if withoutParsers[k.name] == "" {
			Expect(bad).NotTo(BeZero(), "%s: see withoutParsers", k.name)
		}
		AddReportEntry(k.name+" continues", fmt.Sprintf("after %s, without poison after %s", withPoison, before))
		k.several(1, "g15-next", k.briefly)
		Eventually(func() float64 { return unreadable(k) }).Should(BeEquivalentTo(bad), k.name)
	}
	Expect(restore()).To(Succeed())
	startsInTime(op, all, clean)
	for _, k := range all {
		k.several(1, "g15-next", k.briefly)
	}
	isReported(poisoned)
	for _, k := range all {
		Eventually(func() float64 { return unreadable(k) }).Should(BeZero(), k.name)
	}
}

// goesOnWithin is how much later than without poison an object may be served. It is compared with the same act in the same
// run, because how long that takes depends on the machine.
const goesOnWithin = 5 * time.Second

// tries are how often something may be late. Poison that holds a kind up does so each time; a machine that is busy with
// something else does not.
const tries = 3

// serves stores an object right after something else was done, and gives how long it takes until the operator has looked at it.
func (k *kind) serves(after func()) time.Duration {
	GinkgoHelper()
	o := k.object(unique("g15-serves"))
	k.briefly(o)
	k.surround(o)
	if after != nil {
		after()
	}
	began := time.Now()
	Create(o)
	discardLater(o)
	Eventually(lookedAt(o)).Should(Succeed())
	return time.Since(began).Round(time.Millisecond)
}

// lookedAt tells what is missing to an object that the operator has looked at.
func lookedAt(o engine.Object) func() error {
	return func() error {
		if err := Reload(o); err != nil {
			return err
		}
		if seen := o.CommonStatus().ObservedGeneration; seen != o.GetGeneration() {
			return fmt.Errorf("%s: generation %d was looked at, not %d", o.GetName(), seen, o.GetGeneration())
		}
		return nil
	}
}

// goesOn stores poison, and right after it an object, which has to be served in time.
func (k *kind) goesOn(before time.Duration, poison func()) time.Duration {
	GinkgoHelper()
	var took []time.Duration
	for range tries {
		took = append(took, k.serves(poison))
		if slices.Min(took) < before+goesOnWithin {
			return slices.Min(took)
		}
	}
	Fail(fmt.Sprintf("%s is held up: the next object is looked at after %v, without poison after %s", k.name, took, before))
	return 0
}

// startsInTime starts the operator with poison there.
func startsInTime(op *Operator, all []*kind, clean map[string]time.Duration) {
	GinkgoHelper()
	var late []string
	for range tries {
		late = nil
		for name, took := range restarted(op, all) {
			AddReportEntry(name+" starts", fmt.Sprintf("after %s, without poison after %s", took, clean[name]))
			if took >= clean[name]+goesOnWithin {
				late = append(late, fmt.Sprintf("%s after %s, without poison after %s", name, took, clean[name]))
			}
		}
		if len(late) == 0 {
			return
		}
	}
	Expect(late).To(BeEmpty(), "what is held up when the operator starts with poison")
}

// restarted restarts the operator, and gives for each kind how long it takes until the operator has looked at an object that
// was stored while it was away.
func restarted(op *Operator, all []*kind) map[string]time.Duration {
	GinkgoHelper()
	op.Stop()
	waiting := map[string]engine.Object{}
	for _, k := range all {
		o := k.object(unique("g15-waits"))
		k.briefly(o)
		k.surround(o)
		waiting[k.name] = Create(o)
		discardLater(o)
	}
	took := map[string]time.Duration{}
	began := time.Now()
	op.Start()
	for name, o := range waiting {
		Eventually(lookedAt(o)).Should(Succeed())
		took[name] = time.Since(began).Round(time.Millisecond)
	}
	return took
}
