/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package guarantees

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/go-cmp/cmp"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// maxWrites is more than the operator writes in one act. That it is more is checked.
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
}

var crashes = []crash{
	{"a request that does not get through", testenv.Fault{Count: 1}, false},
	{"an answer that is lost", testenv.Fault{Count: 1, Lost: true}, false},
	{"the end of the operator", testenv.Fault{}, true},
}

// describeCrashes has G4: at every write of every act something fails. Each write has an object of its
// own; the first object meets no fault, and is what the others are compared with.
func describeCrashes(k *kind) {
	Describe("G4: ends in the same state in spite of", Label("G4"), func() {
		for _, c := range crashes {
			for _, a := range acts(k) {
				It(fmt.Sprintf("%s, at every write of the %s", c.name, a.name), func(ctx context.Context) {
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
					writes := everyWriteFailed(faults)
					AddReportEntry("writes", writes)
					Expect(writes > 1 || k.fixture.Childless() && writes == 1).To(BeTrue(), "an act with %d writes proves little", writes)
					sameState(ctx, objects)
				})
			}
		}
	})
}

// inject performs an act on many objects; for the n-th of them the n-th write fails, for the first none.
// It returns when all faults that can happen have.
func inject(op *testenv.Operator, k *kind, a act, c crash) ([]engine.Object, []*testenv.Injected) {
	GinkgoHelper()
	var objects []engine.Object
	if a.do != nil {
		objects = k.several(maxWrites+1, "g4", a.prepare)
	}
	var faults []*testenv.Injected
	for n := range maxWrites + 1 {
		name := unique("g4-new")
		if a.do != nil {
			name = objects[n].GetName()
		}
		fault := c.fault
		fault.First = n
		fault.Match = func(w testenv.Write) bool { return w.For(name) }
		if n > 0 {
			faults = append(faults, op.Wire.Inject(fault))
		}
		if a.do == nil {
			objects = append(objects, k.make(name, a.prepare))
		} else {
			a.do(objects[n])
		}
	}
	Eventually(a.done(objects[0])).Should(Succeed())
	if c.restarts {
		faulted(op, a, objects, faults)
	}
	return objects, faults
}

// faulted waits until every object has met its fault or has come to the end without.
func faulted(op *testenv.Operator, a act, objects []engine.Object, faults []*testenv.Injected) {
	GinkgoHelper()
	for n, o := range objects[1:] {
		Eventually(func() error {
			if faults[n].Tripped() > 0 {
				return nil
			}
			return a.done(o)()
		}).Should(Succeed(), func() string { return listing(op.Wire.Writes(about(o))) })
	}
}

// everyWriteFailed checks that each write of the act had its fault, and says how many there were.
func everyWriteFailed(faults []*testenv.Injected) int {
	GinkgoHelper()
	n := 0
	for n < len(faults) && faults[n].Tripped() > 0 {
		n++
	}
	Expect(n).To(BeNumerically("<", len(faults)), "there are more writes than faults: raise maxWrites")
	for _, f := range faults[n:] {
		Expect(f.Tripped()).To(BeZero(), "a fault in a later write than the last one")
	}
	return n
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
	}, "20s", "500ms").Should(BeEmpty())
}
