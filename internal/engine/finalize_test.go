// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	finalizer = "widget.test.acme.com/finalizer"
	theirs    = "example.com/theirs"
)

// holding makes a kind with one step for each way, which are both done.
func holding() (steps, end *lever, kind engine.Kind[*Widget]) {
	forward, there := levers("Made")
	backward, back := levers("Released")
	return forward[0], backward[0], finalizing[*Widget]{there, back}
}

// forgetting is a script of a kind that keeps something of its objects.
type forgetting struct {
	script[*Widget]
	forgotten chan string
}

// Forget implements engine.Forgetting.
func (k forgetting) Forget(key client.ObjectKey, uid types.UID) {
	k.forgotten <- key.String() + " " + string(uid)
}

var _ = Describe("What a kind keeps of an object", func() {
	It("is dropped when the object is gone", func() {
		_, steps := levers("Made")
		kind := forgetting{steps, make(chan string, 10)}
		start(widgets(kind, engine.Config[*Widget]{}))
		w := widget()
		AwaitReady(w)
		Expect(kind.forgotten).NotTo(Receive())
		Remove(w)
		Eventually(kind.forgotten).Should(Receive(Equal(client.ObjectKeyFromObject(w).String() + " " + string(w.UID))))
	})
})

var _ = Describe("A finalizer", func() {
	It("is there before the first side effect, and is removed when all is undone", func() {
		steps, end, kind := holding()
		w := widget()
		ns := w.Namespace
		compose := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return append([]engine.Step{{Condition: "Composed", Run: s.Compose(func() ([]engine.Child, error) {
				return []engine.Child{quota(ns, "q", "pods", "3")()}, nil
			})}}, kind.Steps(s)...)
		})
		end.set(engine.Wait(time.Hour, "Packing", "the boxes are not full"), nil)
		r := start(widgets(finalizing[*Widget]{compose, kind.(finalizing[*Widget]).end}, engine.Config[*Widget]{Owns: owned}))
		AwaitReady(w)
		Expect(r.Writes()).To(Equal([]string{"PATCH widgets/w", "APPLY resourcequotas/q", "PATCH widgets/w/status"}))
		Expect(w.Finalizers).To(Equal([]string{finalizer}))

		Remove(w)
		Eventually(conditions(w)).Should(ContainElements(
			"Released=False Packing: the boxes are not full", "Ready=False Packing: Released: the boxes are not full"))
		runs := steps.Runs()
		Expect(w.Status.ObservedGeneration).To(Equal(w.Generation))

		end.set(engine.Outcome{}, errors.New("lid is stuck"))
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Error"))
		Expect(w.Finalizers).To(Equal([]string{finalizer}))

		end.set(engine.Done(), nil)
		Eventually(Gone(w)).Should(Succeed())
		Expect(steps.Runs()).To(Equal(runs), "steps do not run during deletion")
	})

	It("of another controller keeps an object that is finalized, and nothing more is done", func() {
		steps, end, kind := holding()
		r := start(widgets(kind, engine.Config[*Widget]{}))
		w := widget(func(w *Widget) { w.Finalizers = []string{theirs} })
		AwaitReady(w)
		Remove(w)
		Eventually(func() []string { conditions(w)(); return w.Finalizers }).Should(Equal([]string{theirs}))
		made, undone := steps.Runs(), end.Runs()
		r.Forget()
		Poke(w)
		Consistently(r.Writes).Should(BeEmpty())
		Expect([]int{steps.Runs(), end.Runs()}).To(Equal([]int{made, undone}))
	})

	It("is not set by a kind that has nothing to undo, which leaves what is being deleted alone", func() {
		steps, kind := levers("Made")
		start(widgets(kind, engine.Config[*Widget]{}))
		w := widget(func(w *Widget) { w.Finalizers = []string{theirs} })
		AwaitReady(w)
		Expect(w.Finalizers).To(Equal([]string{theirs}))
		runs := steps[0].Runs()
		Remove(w)
		Consistently(steps[0].Runs).Should(Equal(runs))
	})

	It("that cannot be set because another writer was faster is set later, without an event", func() {
		_, _, kind := holding()
		r := start(widgets(kind, engine.Config[*Widget]{}))
		r.refuse(2, http.MethodPatch, "/widgets/w", http.StatusConflict, metav1.StatusReasonConflict)
		failures := Metric("controller_runtime_reconcile_errors_total", "widget")
		w := widget()
		AwaitReady(w)
		Expect(r.Writes()).To(Equal([]string{
			"PATCH widgets/w", "PATCH widgets/w", "PATCH widgets/w", "PATCH widgets/w/status",
		}))
		Expect(Metric("controller_runtime_reconcile_errors_total", "widget")).To(Equal(failures))
	})

	It("is not set, and nothing is created, on an object that is gone by then", func() {
		steps, _, kind := holding()
		r := start(widgets(kind, engine.Config[*Widget]{}))
		failures := Metric("controller_runtime_reconcile_errors_total", "widget")
		var once sync.Once
		r.Answer(func(req *http.Request) *http.Response {
			if req.Method == http.MethodPatch && strings.HasSuffix(req.URL.Path, "/widgets/w") {
				once.Do(func() {
					ns := strings.Split(req.URL.Path, "/")[5]
					_ = Admin.Delete(req.Context(), &Widget{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: ns}})
				})
			}
			return nil
		})
		w := widget()
		Eventually(Gone(w)).Should(Succeed())
		Eventually(r.Writes).Should(Equal([]string{"PATCH widgets/w"}))
		Consistently(steps.Runs).Should(BeZero())
		Expect(Metric("controller_runtime_reconcile_errors_total", "widget")).To(Equal(failures))
	})
})

var _ = Describe("A paused object", func() {
	pause := func(w *Widget) { Annotate(w, names.AnnotationPaused, "true") }

	It("is left alone until it is resumed", func() {
		steps, end, kind := holding()
		r := start(widgets(kind, engine.Config[*Widget]{}))
		w := widget(func(w *Widget) { w.Annotations = map[string]string{names.AnnotationPaused: "true"} })
		Eventually(conditions(w)).Should(ConsistOf(HavePrefix("Paused=True PausedByAnnotation: this object is not reconciled")))
		Eventually(events(w)).Should(Equal([]string{"Normal PausedByAnnotation"}))
		Expect(w.Finalizers).To(BeEmpty())
		Patch(w, `{"spec":{"value":"new"}}`)
		Consistently(steps.Runs).Should(BeZero())
		Expect(r.Writes()).To(HaveEach("PATCH widgets/w/status"))

		Annotate(w, names.AnnotationPaused, "")
		AwaitReady(w)
		Expect(meta.FindStatusCondition(w.Status.Conditions, engine.Paused)).To(BeNil())

		pause(w)
		Eventually(conditions(w)).Should(ContainElement(HavePrefix("Paused=True")))
		Remove(w)
		Consistently(end.Runs).Should(BeZero())
		Expect(Gone(w)()).NotTo(Succeed())

		Annotate(w, names.AnnotationPaused, "")
		Eventually(Gone(w)).Should(Succeed())
		Expect(end.Runs()).To(Equal(1))
	})

	It("does not repair drift", func() {
		w := widget()
		r := start(widgets(composing(quota(w.Namespace, "q", "pods", "3")), engine.Config[*Widget]{Owns: owned}))
		AwaitReady(w)
		pause(w)
		Eventually(conditions(w)).Should(ContainElement(HavePrefix("Paused=True")))
		r.Forget()
		Remove(liveQuota(w.Namespace, "q"))
		Consistently(r.Writes).Should(BeEmpty())
		Annotate(w, names.AnnotationPaused, "false")
		Eventually(hard(w.Namespace, "q", "pods")).Should(Equal("3"))
	})
})
