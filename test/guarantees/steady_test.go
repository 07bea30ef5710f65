// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// met is how many objects of each kind a restart meets.
const met = 20

// describeSteady has G1 and G2. Their specs are for all kinds at once, because each takes its time.
func describeSteady(all []*kind) {
	It("G1: writes nothing when it looks once more, ten minutes later, and nothing has changed", labels("G1", all), func() {
		op := start()
		objects := steady(op, all)
		quiet(op, objects...)
		now.step(now.Now().Add(10 * time.Minute))
		Expect(op.Quiet(objects...)).To(BeEmpty())
	})

	It("G1: writes nothing for 30 seconds when nothing changed", labels("G1", all, limit.Slow, limit.Timed), func(ctx context.Context) {
		op := start()
		objects := steady(op, all)
		alone(op)
		before := versions(ctx, objects)
		Consistently(op.Wire.Writes, "30s", "500ms").Should(BeEmpty())
		Expect(versions(ctx, objects)).To(Equal(before))
	})

	It("G2: writes nothing after a restart", labels("G2", all), func() {
		op := start()
		var objects []engine.Object
		for _, k := range all {
			objects = append(objects, k.several(1, "g2-restart")...)
		}
		quiet(op, objects...)
		op.Restart()
		op.AwaitLook(objects...)
		Expect(op.Wire.Writes(aboutAny(objects))).To(BeEmpty())
	})

	It("G2: writes nothing and reads little after a restart and a change of leader", labels("G2", all, limit.Slow, limit.Timed), func() {
		elects := func(o *operator.Options) { o.LeaderElect = true }
		first := start(elects)
		Eventually(first.Leads()).Should(BeClosed())
		objects := manyOf(all, "g2")
		alone(first)
		leadsQuietly := func(op *Operator, begin func()) {
			before := runs(all)
			op.Wire.Forget()
			begin()
			Eventually(op.Leads()).Should(BeClosed())
			caughtUp(all, before, func(*kind) int { return met })
			Consistently(op.Wire.Writes, "2s").Should(BeEmpty())
			readsLittle(op.Wire, all, objects, before)
		}
		By("a restart")
		first.Stop()
		leadsQuietly(first, first.Start)
		By("a change of leader")
		second := start(elects)
		Consistently(second.Leads(), "500ms").ShouldNot(BeClosed())
		leadsQuietly(second, first.Stop)
	})
}

// steady makes objects of all kinds at rest: fresh ones, after each transition, and after a change that was acted on, because
// what is acted on once is acted on no more.
func steady(op *Operator, all []*kind) (objects []engine.Object) {
	GinkgoHelper()
	for _, k := range all {
		o := k.several(1, "g1-changed")[0]
		op.Wire.Forget() // the creation may have been the same request
		Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
		Eventually(succeeded).WithArguments(op, o, k.fixture.Action(o.GetName())).Should(Equal(1))
		Eventually(k.settled(o)).Should(Succeed())
		objects = append(objects, o)
	}
	for _, k := range all {
		objects = append(objects, k.several(2, "g1")...)
		for _, transition := range k.fixture.Transitions() {
			objects = append(objects, k.several(1, "g1", transition)...)
		}
	}
	return objects
}

// versions are the resource versions of objects and of all that belongs to them, by name.
func versions(ctx context.Context, objects []engine.Object) map[string]map[string]string {
	GinkgoHelper()
	var uniques []string
	for _, o := range objects {
		uniques = append(uniques, o.GetName())
	}
	all := map[string]map[string]string{}
	for name, c := range survey(ctx, uniques...) {
		Expect(len(c)).To(BeNumerically(">", 1), "an object without children proves nothing")
		all[name] = c.versions()
	}
	return all
}

// manyOf makes objects of all kinds, by kind.
func manyOf(all []*kind, prefix string) map[string][]engine.Object {
	GinkgoHelper()
	objects := map[string][]engine.Object{}
	for _, k := range all {
		objects[k.name] = k.several(met, prefix)
	}
	return objects
}

// readsLittle checks what an operator that has looked at some objects for the first time has read beside what it watches: in
// each run no more than the kind's fixture says, and for all together hardly more than each type once.
func readsLittle(wire *testenv.Wire, all []*kind, objects map[string][]engine.Object, before map[string]float64) {
	GinkgoHelper()
	kindOf := func(path string) string {
		for name, list := range objects {
			if slices.ContainsFunc(list, func(o engine.Object) bool { return testenv.For(path, o.GetName()) }) {
				return name
			}
		}
		return ""
	}
	reads := map[string][]string{}
	for _, path := range wire.Reads() {
		reads[kindOf(path)] = append(reads[kindOf(path)], path)
	}
	for _, k := range all {
		ran := func() float64 { return reconciles(k) - before[k.name] }
		AddReportEntry("reads for a "+k.name, fmt.Sprintf("%d in %.0f runs", len(reads[k.name]), ran()))
		allowed := func() float64 { return ran() * k.fixture.Reads() } // a run that reads now has not ended
		Eventually(allowed).Should(BeNumerically(">=", len(reads[k.name])), "%s: %v", k.name, reads[k.name])
	}
	AddReportEntry("other reads", strings.Join(reads[""], "\n"))
	Expect(len(reads[""])).To(BeNumerically("<=", len(wire.Watched())+len(all)), "%v", reads[""])
}

// runs are the reconciles of every kind so far.
func runs(all []*kind) map[string]float64 {
	GinkgoHelper()
	out := map[string]float64{}
	for _, k := range all {
		out[k.name] = reconciles(k)
	}
	return out
}

// caughtUp waits until every kind has looked at so many objects since then and has nothing more to do.
func caughtUp(all []*kind, before map[string]float64, objects func(*kind) int) {
	GinkgoHelper()
	for _, k := range all {
		Eventually(func() float64 { return reconciles(k) - before[k.name] }).Should(BeNumerically(">=", objects(k)))
		Eventually(busy).WithArguments(k).Should(BeZero())
	}
}

// describeLevels has G3.
func describeLevels(k *kind) {
	Describe("G3: acts exactly once", Label("G3"), func() {
		It("on a change that was made while it was stopped", func() {
			op := start()
			o := k.several(1, "g3-stopped")[0]
			quiet(op, o)
			op.Stop()
			action := k.fixture.Action(o.GetName())
			Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
			op.Wire.Forget()
			op.Start()
			Eventually(succeeded).WithArguments(op, o, action).Should(Equal(1))
			Eventually(k.settled(o)).Should(Succeed())
			quietFor(op, o)
			Expect(succeeded(op, o, action)).To(Equal(1))
			for _, w := range op.Wire.Writes(about(o)) {
				Expect(w.String()).To(Or(Equal(action), HaveSuffix("/status")))
			}
		})

		if k.fixture.TimeStands() {
			It("at its time, with nothing that wakes it", func() { punctual(k) })
		}

		It("after the action has failed ten times", func() {
			op := start()
			o := k.several(1, "g3-failing")[0]
			quiet(op, o)
			action := k.fixture.Action(o.GetName())
			fault := op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.String() == action }, Count: 10})
			Change(o, func(o engine.Object) { k.fixture.Change(o, o.GetName()) })
			Eventually(fault.Tripped).Should(Equal(10))
			Eventually(succeeded).WithArguments(op, o, action).Should(Equal(1))
			Eventually(k.settled(o)).Should(Succeed())
			quietFor(op, o)
			Expect(succeeded(op, o, action)).To(Equal(1))
			Expect(op.Wire.Writes(about(o), is(action))).To(HaveLen(11))
		})

		if k.hasOutside("G3") {
			It("after the outside system has failed ten times", func() {
				op := start()
				o := k.several(1, "g3-outside")[0]
				outside := k.fixture.External()
				outside.Answer(http.StatusInternalServerError)
				Remove(o)
				Eventually(outside.Tried).WithArguments(o.GetName()).Should(BeNumerically(">=", 10))
				Expect(outside.Told(o.GetName())).To(BeZero())
				outside.Answer(http.StatusOK)
				Eventually(Gone(o)).Should(Succeed())
				quietFor(op, o)
				Expect(outside.Told(o.GetName())).To(Equal(1))
			})
		}
	})
}

// punctual lets the time of an act come, of which only the operator's own timer tells. Just before, it looks again and again
// whether it has come: it stands still.
func punctual(k *kind) {
	GinkgoHelper()
	const justBefore, looks = 200 * time.Millisecond, 5
	op := start()
	o := k.several(1, "g3-due")[0]
	quiet(op, o)
	due, action := k.fixture.Due(o), k.fixture.Action(o.GetName())
	now.step(due.Add(-justBefore))
	Poke(o)
	before := reconciles(k)
	Eventually(func() float64 { return reconciles(k) - before }).Should(BeNumerically(">", looks), "it sleeps through it")
	Expect(op.Wire.Writes(about(o), is(action))).To(BeEmpty(), "before its time")
	now.step(due)
	Eventually(succeeded).WithArguments(op, o, action).Should(Equal(1), "while no time passes")
	Eventually(k.settled(o)).Should(Succeed())
	quietFor(op, o)
	Expect(succeeded(op, o, action)).To(Equal(1))
}

func about(o engine.Object) func(testenv.Write) bool {
	return func(w testenv.Write) bool { return w.For(o.GetName()) }
}

func aboutAny(objects []engine.Object) func(testenv.Write) bool {
	return func(w testenv.Write) bool {
		return slices.ContainsFunc(objects, func(o engine.Object) bool { return w.For(o.GetName()) })
	}
}

func is(write string) func(testenv.Write) bool {
	return func(w testenv.Write) bool { return w.String() == write }
}

// succeeded counts how often a write for an object came through.
func succeeded(op *Operator, o engine.Object, write string) int {
	n := 0
	for _, w := range op.Wire.Writes(about(o), is(write)) {
		if w.Code/100 == 2 {
			n++
		}
	}
	return n
}

// quietFor waits until nothing is written for an object.
func quietFor(op *Operator, o engine.Object) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		n := len(op.Wire.Writes(about(o)))
		g.Consistently(func() int { return len(op.Wire.Writes(about(o))) }, "700ms").Should(Equal(n))
	}).Should(Succeed())
}

// listing is for messages.
func listing(writes []testenv.Write) string {
	var lines []string
	for _, w := range writes {
		lines = append(lines, w.String())
	}
	return strings.Join(lines, "\n")
}
