// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const notReached = "Unknown NotReached: an earlier step is not done"

var _ = Describe("Steps", func() {
	It("run in order until one is not done, and each run writes the status once", func() {
		steps, kind := levers("First", "Second", "Third")
		steps[1].set(engine.Wait(time.Hour, "Cooking", "the soup is not hot"), nil)
		r := start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()

		Eventually(conditions(w)).Should(Equal([]string{
			"First=True Done", "Second=False Cooking: the soup is not hot", "Third=" + notReached,
			"Ready=False Cooking: Second: the soup is not hot",
		}))
		Expect(steps[2].Runs()).To(BeZero())
		Expect(r.Writes()).To(Equal([]string{"PATCH widgets/w/status"}))

		steps[1].set(engine.Done(), nil)
		Patch(w, `{"spec":{"value":"new"}}`)
		Eventually(conditions(w)).Should(Equal([]string{
			"First=True Done", "Second=True Done", "Third=True Done", "Ready=True Ready: all steps are done",
		}))
		Expect(w.Generation).To(BeEquivalentTo(2))
		Expect(w.Status.ObservedGeneration).To(Equal(w.Generation))
		for _, c := range w.Status.Conditions {
			Expect(c.ObservedGeneration).To(Equal(w.Generation), c.Type)
		}
		Expect(r.Writes()).To(HaveLen(2))

		r.Forget()
		runs := steps[2].Runs()
		Poke(w)
		Eventually(steps[2].Runs).Should(BeNumerically(">", runs))
		Consistently(r.Writes).Should(BeEmpty())
	})

	It("that block stall the object, and do not run again until something changes", func() {
		steps, kind := levers("First")
		steps[0].set(engine.Block("BadColour", "choose red or blue"), nil)
		start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()

		Eventually(conditions(w)).Should(Equal([]string{
			"First=False BadColour: choose red or blue", "Ready=False BadColour: First: choose red or blue",
			"Stalled=True BadColour: First: choose red or blue",
		}))
		Consistently(steps[0].Runs).Should(Equal(1))

		steps[0].set(engine.Wait(time.Hour, "Painting", "the paint is wet"), nil)
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Painting"))
		Expect(meta.FindStatusCondition(w.Status.Conditions, engine.Stalled)).To(BeNil())
	})

	It("that repeat the run do so before any other object has its turn, while there is something new to act on", func() {
		var mu sync.Mutex
		var order, want []string
		ran := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(order) }
		kind := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "First", Run: func(context.Context) (engine.Outcome, error) {
				mu.Lock()
				defer mu.Unlock()
				order = append(order, s.Obj.Namespace+s.Obj.Status.Summary)
				s.Obj.Status.Summary = " begun"
				return engine.Done().Repeat(), nil
			}}}
		})
		for range 5 {
			w := widget()
			want = append(want, w.Namespace, w.Namespace+" begun")
		}
		r := start(widgets(kind, engine.Config[*Widget]{}))
		Eventually(ran).Should(HaveLen(len(want)))
		Consistently(ran).Should(ConsistOf(want))
		for pair := range slices.Chunk(ran(), 2) {
			Expect(pair[1]).To(Equal(pair[0] + " begun"))
		}
		Expect(r.Writes()).To(HaveLen(5))
	})

	It("run for an object soon, however many objects of another namespace wait", func() {
		var mu sync.Mutex
		var order []string
		ran := func() []string { mu.Lock(); defer mu.Unlock(); return slices.Clone(order) }
		gate := make(chan struct{})
		kind := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "First", Run: func(context.Context) (engine.Outcome, error) {
				mu.Lock()
				order = append(order, s.Obj.Namespace)
				mu.Unlock()
				<-gate
				return engine.Done(), nil
			}}}
		})
		start(widgets(kind, engine.Config[*Widget]{}))
		flooded := Namespace()
		for i := range 30 {
			made(&Widget{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("w", i), Namespace: flooded}})
		}
		Eventually(ran).Should(HaveLen(1))
		queued := func() float64 { return Metric("workqueue_depth", "widget") }
		Eventually(queued).Should(BeEquivalentTo(29))
		w := widget()
		Eventually(queued).Should(BeEquivalentTo(30))
		close(gate)
		Eventually(ran).Should(HaveLen(31))
		Expect(slices.Index(ran(), w.Namespace)).To(BeNumerically("<=", 2))
	})

	It("run for few large objects at once, and for small ones however many large ones wait", func() {
		const many, atOnce = 8, 2
		var mu sync.Mutex
		busy, small := 0, 0
		count := func(n *int) func() int { return func() int { mu.Lock(); defer mu.Unlock(); return *n } }
		done := map[string]bool{}
		gate := make(chan struct{})
		kind := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "First", Run: func(context.Context) (engine.Outcome, error) {
				mu.Lock()
				defer mu.Unlock()
				if !engine.IsCut(s.Obj) {
					small++
					return engine.Done(), nil
				}
				busy++
				mu.Unlock()
				<-gate
				mu.Lock()
				done[s.Obj.Name] = true
				return engine.Done(), nil
			}}}
		})
		start(widgets(kind, engine.Config[*Widget]{MaxConcurrentReconciles: many}))
		crowded := []string{Namespace(), Namespace()} // one of which has one place at most
		for i := range many {
			made(&Widget{ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprint("w", i), Namespace: crowded[i%2], Annotations: map[string]string{names.AnnotationCut: "true"},
			}})
		}
		Eventually(count(&busy)).Should(Equal(atOnce))
		Consistently(count(&busy)).Should(Equal(atOnce))
		widget()
		Eventually(count(&small)).Should(Equal(1))
		close(gate)
		Eventually(func() int { mu.Lock(); defer mu.Unlock(); return len(done) }).Should(Equal(many))
	})

	DescribeTable("are looked at again after their delay", func(out engine.Outcome, want string) {
		steps, kind := levers("First", "Second")
		steps[0].set(out, nil)
		start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()
		Eventually(steps[0].Runs).Should(BeNumerically(">=", 3))
		Expect(Ready(w)()).To(Equal(want))
	},
		Entry("waiting", engine.Wait(50*time.Millisecond, "Cooking", ""), "False Cooking"),
		Entry("blocked", engine.BlockFor(50*time.Millisecond, "BadColour", ""), "False BadColour"),
		Entry("done", engine.DoneUntil(50*time.Millisecond), "True Ready"),
		Entry("uncertain", engine.Uncertain(50*time.Millisecond, "Mute", "no answer"), "True Ready"),
	)

	It("that are uncertain let the rest continue, and Ready follows the last", func() {
		steps, kind := levers("First", "Second", "Third")
		steps[0].set(engine.Uncertain(time.Hour, "Mute", "no answer"), nil)
		start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()
		Eventually(conditions(w)).Should(Equal([]string{
			"First=Unknown Mute: no answer", "Second=True Done", "Third=True Done", "Ready=True Ready: no answer",
		}))
		steps[1].set(engine.Done().Saying("3 of 3 run"), nil)
		Poke(w)
		Eventually(conditions(w)).Should(Equal([]string{
			"First=Unknown Mute: no answer", "Second=True Done: 3 of 3 run", "Third=True Done", "Ready=True Ready: 3 of 3 run",
		}))
	})

	DescribeTable("that fail are reported and retried", func(err error, reason, message string) {
		steps, kind := levers("First", "Second")
		steps[0].set(engine.Outcome{}, err)
		r := start(widgets(kind, engine.Config[*Widget]{RetryMax: 100 * time.Millisecond}))
		w := widget()
		Eventually(steps[0].Runs).Should(BeNumerically(">", 3))
		Expect(conditions(w)()).To(Equal([]string{
			"First=False " + reason + ": " + message, "Second=" + notReached,
			"Ready=False " + reason + ": First: " + message,
		}))
		Expect(w.Status.ObservedGeneration).To(Equal(w.Generation))
		Expect(r.Writes()).To(Equal([]string{"PATCH widgets/w/status"}))

		steps[0].set(engine.Done(), nil)
		AwaitReady(w)
	},
		Entry("with any error", errors.New("disk on fire"), "Error", "disk on fire"),
		Entry("with an explained one", fmt.Errorf("asking: %w", engine.Explain(errors.New("EOF"), "BillingFailed", "no ledger")),
			"BillingFailed", "no ledger"),
		Entry("with one of the API server", fmt.Errorf("creating it: %w",
			apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("no"))),
			"Forbidden", `creating it: pods "p" is forbidden: no`),
		Entry("with another manager's field", apierrors.NewApplyConflict(
			[]metav1.StatusCause{{Type: metav1.CauseTypeFieldManagerConflict, Field: ".x"}}, "held by another"),
			"Conflict", "held by another"),
		Entry("with an explained conflict", engine.Explain(conflict(), "Busy", "ask again"), "Busy", "ask again"),
	)

	It("that lose a race are repeated without a report", func() {
		steps, kind := levers("First")
		r := start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()
		AwaitReady(w)
		r.Forget()
		runs, failures := steps[0].Runs(), Metric("controller_runtime_reconcile_errors_total", "widget")

		steps[0].set(engine.Outcome{}, fmt.Errorf("writing: %w", conflict()))
		Poke(w)
		Eventually(steps[0].Runs).Should(BeNumerically(">=", runs+3))
		steps[0].set(engine.Done(), nil)
		Consistently(r.Writes).Should(BeEmpty())
		Expect(Ready(w)()).To(Equal("True Ready"))
		Expect(Metric("controller_runtime_reconcile_errors_total", "widget")).To(Equal(failures))
	})

	It("report texts that are too long up to the limit of the API server", func() {
		steps, kind := levers("First")
		steps[0].set(engine.Block("BadColour", strings.Repeat("ä", 40000)), nil)
		start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()
		Eventually(Ready(w)).Should(Equal("False BadColour"))
		Eventually(events(w)).Should(Equal([]string{"Warning BadColour"}))
	})

	It("see a status that could not be written be written later", func() {
		_, kind := levers("First")
		r := start(widgets(kind, engine.Config[*Widget]{}))
		r.refuse(2, http.MethodPatch, "/status", http.StatusInternalServerError, metav1.StatusReasonInternalError)
		w := widget()
		AwaitReady(w)
		Expect(r.Writing("/status")).To(HaveLen(3))
		Eventually(events(w)).Should(Equal([]string{"Normal Ready"}))
	})

	It("end in the kind's own summary", func() {
		steps, kind := levers("First")
		r := start(widgets(summarizing{kind}, engine.Config[*Widget]{}))
		w := widget()
		AwaitReady(w)
		Expect(w.Status.Summary).To(Equal("2 conditions"))
		steps[0].set(engine.Block("BadColour", ""), nil)
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False BadColour"))
		Expect(w.Status.Summary).To(Equal("3 conditions"))
		Expect(r.Writes()).To(HaveLen(2))
	})

	It("may emit events of their own", func() {
		start(widgets(script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "First", Run: func(context.Context) (engine.Outcome, error) {
				s.Event(corev1.EventTypeNormal, "Sang", "%d%% %s", 100, strings.Repeat("la", 1000))
				return engine.Done(), nil
			}}}
		}), engine.Config[*Widget]{}))
		w := widget()
		Eventually(events(w)).Should(ConsistOf("Normal Sang", "Normal Ready"))
	})
})

// summarizing counts the conditions.
type summarizing struct{ script[*Widget] }

func (summarizing) Summarize(w *Widget) {
	w.Status.Summary = fmt.Sprintf("%d conditions", len(w.Status.Conditions))
}

func conflict() error {
	return apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "p", errors.New("too late"))
}
