// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// maxWrites is the most that the operator may write in one act.
const maxWrites = 16

// act is something that makes the operator write.
type act struct {
	name string
	// prepare changes the object before it is created.
	prepare func(engine.Object)
	// do is the act; nil is the creation.
	do func(engine.Object)
	// done waits for the end of it.
	done func(engine.Object) func() error
}

func acts(k *kind) []act {
	all := []act{{name: "creation", prepare: func(engine.Object) {}, done: k.settled}}
	for _, name := range sortedKeys(k.fixture.Transitions()) {
		transition := k.fixture.Transitions()[name]
		all = append(all, act{name, func(engine.Object) {}, func(o engine.Object) { Change(o, transition) }, k.settled})
	}
	for _, h := range k.fixture.Happenings() {
		done := func(o engine.Object) func() error {
			return func() error { return errors.Join(h.Done(o.GetName()), k.settled(o)()) }
		}
		all = append(all, act{h.Name, func(engine.Object) {}, func(o engine.Object) { h.Do(o.GetName()) }, done})
	}
	for _, d := range k.fixture.Deletions() {
		if k.leavesOut("G4 deletion") {
			break
		}
		all = append(all, act{"deletion, " + d.Name, d.Prepare, func(o engine.Object) { Remove(o) }, func(o engine.Object) func() error { return Gone(o) }})
	}
	return all
}

// crash is a way to fail at the k-th write.
type crash struct {
	name  string
	fault testenv.Fault
	// restarts tells that nothing gets through from then on, until the operator is started again.
	restarts bool
	// tier are the labels of specs that the gate leaves out: a lost answer is the harder one of those that come once.
	tier Labels
}

var crashes = []crash{
	{"a request that does not get through", testenv.Fault{Count: 1}, false, Label(limit.Slow)},
	{"an answer that is lost", testenv.Fault{Count: 1, Lost: true}, false, nil},
	{"the end of the operator", testenv.Fault{}, true, nil},
}

// describeCrashes has G4: at every write of every act something fails. A first object meets no fault: its writes are those
// that are made to fail, each for an object of its own, and it is what those are compared with.
func describeCrashes(k *kind) {
	Describe("G4: ends in the same state in spite of", Label("G4"), func() {
		for _, c := range crashes {
			for _, a := range acts(k) {
				It(fmt.Sprintf("%s, at every write of the %s", c.name, a.name), c.tier, func(ctx context.Context) {
					op := start()
					objects, faults := inject(op, k, a, c)
					if c.restarts {
						op.Stop()
						op.Wire.Heal()
						op.Start()
					}
					for _, o := range objects {
						Eventually(a.done(o)).Should(Succeed(), func() string { return listing(op.Wire.Writes(about(o))) })
					}
					AddReportEntry("writes", len(faults))
					Expect(len(faults) > 1 || k.fixture.Childless() && len(faults) == 1).To(BeTrue(), "an act with %d writes proves little", len(faults))
					sameState(ctx, objects)
				})
			}
		}
	})
}

// inject performs an act on many objects; for each write of the first of them there is another object, for which that
// write fails. It returns when all faults that can happen have.
func inject(op *Operator, k *kind, a act, c crash) (objects []engine.Object, faults []*crashed) {
	GinkgoHelper()
	if a.do != nil {
		objects = k.several(1, "g4", a.prepare)
	}
	perform := func(n int, before func(name string)) engine.Object {
		if a.do == nil {
			name := unique("g4-new")
			before(name)
			objects = append(objects, k.make(name, a.prepare))
		} else {
			before(objects[n].GetName())
			a.do(objects[n])
		}
		return objects[n]
	}
	op.Wire.Forget()
	first := perform(0, func(string) {})
	Eventually(a.done(first)).Should(Succeed())
	writes := op.Wire.Writes(about(first))
	Expect(len(writes)).To(BeNumerically("<=", maxWrites), "there are more objects than one spec should have")
	if a.do != nil {
		objects = append(objects, k.several(len(writes), "g4", a.prepare)...)
	}
	for n, w := range writes {
		perform(n+1, func(name string) {
			faults = append(faults, fail(op, c, form(w, first.GetName()), occurrence(writes[:n+1], first.GetName()), name))
		})
	}
	for n, o := range objects[1:] {
		Eventually(func() error {
			switch {
			case faults[n].Tripped() > 0:
				return nil
			case faults[n].again: // How often a status is written depends on how fast things come; that it is does not.
				return a.done(o)()
			}
			return fmt.Errorf("%s did not fail for %s", faults[n].form, o.GetName())
		}).Should(Succeed(), func() string { return listing(op.Wire.Writes(about(o))) })
	}
	return objects, faults
}

// crashed is the fault of one write of an act.
type crashed struct {
	*testenv.Injected
	form string
	// again tells that the write is one that the act made before.
	again bool
}

// form is a write whatever the object's name, the slot of its run and the digest of its configuration are.
func form(w testenv.Write, name string) string {
	return anonymous(strings.ReplaceAll(w.String(), name, "NAME"))
}

// occurrence is how many of the writes have the form of the last.
func occurrence(writes []testenv.Write, name string) int {
	n := 0
	for _, w := range writes {
		if form(w, name) == form(writes[len(writes)-1], name) {
			n++
		}
	}
	return n
}

// fail injects a fault into the k-th write of a form for an object.
func fail(op *Operator, c crash, wanted string, k int, name string) *crashed {
	fault, seen := c.fault, 0
	fault.Match = func(w testenv.Write) bool {
		if w.For(name) && form(w, name) == wanted {
			seen++
		}
		return w.For(name) && seen >= k
	}
	return &crashed{op.Wire.Inject(fault), wanted, k > 1}
}

// sameState checks that all objects have come to what the first one is.
func sameState(ctx context.Context, objects []engine.Object) {
	GinkgoHelper()
	var names []string
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	Eventually(func() string {
		all := survey(ctx, names...)
		reference := all[names[0]].comparable(names[0])
		for _, name := range names[1:] {
			if diff := cmp.Diff(reference, all[name].comparable(name)); diff != "" {
				return fmt.Sprintf("%s (-without fault +with):\n%s", name, diff)
			}
		}
		return ""
	}).WithPolling(500 * time.Millisecond).Should(BeEmpty()) // which is a request for each type
}
