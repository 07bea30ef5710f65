// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("Reports", func() {
	const (
		transitions = "platform_operator_condition_transitions_total"
		timeToReady = "platform_operator_time_to_ready_seconds"
		objects     = "platform_operator_objects"
	)

	It("show each transition once, as an event and as metrics", func() {
		counted := func(condition, status string) float64 { return Metric(transitions, "widget", condition, status) }
		first, up, down, times := counted("First", "True"), counted("Ready", "True"), counted("Ready", "False"), Metric(timeToReady, "widget")

		steps, kind := levers("First", "Second")
		clock := clocktesting.NewFakePassiveClock(time.Now())
		r := start(widgets(kind, engine.Config[*Widget]{Clock: clock, RetryMax: 50 * time.Millisecond}))
		steps[1].set(engine.Wait(time.Hour, "Cooking", ""), nil)
		w := widget()
		Eventually(Ready(w)).Should(Equal("False Cooking"))
		clock.SetTime(clock.Now().Add(time.Minute))
		steps[1].set(engine.Done(), nil)
		Poke(w)
		AwaitReady(w)
		steps[1].set(engine.Outcome{}, errors.New("disk on fire"))
		Poke(w)
		Eventually(Ready(w)).Should(Equal("False Error"))
		runs := steps[1].Runs()
		Eventually(steps[1].Runs).Should(BeNumerically(">", runs+3))
		steps[1].set(engine.Done(), nil)
		AwaitReady(w)

		Eventually(events(w)).Should(Equal([]string{
			"Normal Cooking", "Normal Ready", "Warning Error", "Normal Ready",
		}))
		Consistently(events(w)).Should(HaveLen(4))
		Expect(r.Writing("/status")).To(HaveLen(4))
		Expect(counted("First", "True") - first).To(BeEquivalentTo(1))
		Expect(counted("Ready", "True") - up).To(BeEquivalentTo(2))
		Expect(counted("Ready", "False") - down).To(BeEquivalentTo(2))
		Expect(Metric(timeToReady, "widget")-times).To(BeEquivalentTo(1), "ready for the first time, once")
	})

	It("run the functions of Told once the status is written", func() {
		var runs, told atomic.Int32
		kind := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "First", Run: func(context.Context) (engine.Outcome, error) {
				if s.Obj.Status.Summary == "" {
					s.Obj.Status.Summary = "made"
					runs.Add(1)
					s.Told(func() { told.Add(1) })
				}
				return engine.Done(), nil
			}}}
		})
		r := start(widgets(kind, engine.Config[*Widget]{RetryMax: 50 * time.Millisecond}))
		r.refuse(3, http.MethodPatch, "/status", http.StatusInternalServerError, metav1.StatusReasonInternalError)
		w := widget()
		AwaitReady(w)
		Expect(runs.Load()).To(BeEquivalentTo(4))
		Eventually(told.Load).Should(BeEquivalentTo(1))
	})

	It("of an object that was deleted are not written to another one of its name", func() {
		first, begun, gone := widget(), make(chan struct{}), make(chan struct{})
		kind := script[*Widget](func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "First", Run: func(context.Context) (engine.Outcome, error) {
				if s.Obj.GetAnnotations()[names.AnnotationPaused] == "" {
					close(begun)
					<-gone
					return engine.Wait(time.Hour, "Old", ""), nil
				}
				return engine.Done(), nil
			}}}
		})
		start(widgets(kind, engine.Config[*Widget]{}))
		Eventually(begun).Should(BeClosed())
		Remove(first)
		again := made(&Widget{ObjectMeta: metav1.ObjectMeta{
			Namespace: first.Namespace, Name: first.Name, Annotations: map[string]string{names.AnnotationPaused: "true"},
		}})
		close(gone)
		Eventually(conditions(again)).Should(ContainElement(HavePrefix("Paused")))
		Expect(conditions(again)()).To(HaveLen(1))
	})

	It("count the objects, also those of a second manager", func() {
		steps, kind := levers("First")
		for range 2 {
			r := start(widgets(kind, engine.Config[*Widget]{}))
			w := widget()
			AwaitReady(w)
			Eventually(func() float64 { return Metric(objects, "widget", "True") }).Should(BeEquivalentTo(1))
			steps[0].set(engine.Block("BadColour", ""), nil)
			Poke(w)
			Eventually(func() float64 { return Metric(objects, "widget", "False") }).Should(BeEquivalentTo(1))
			Expect(Metric(objects, "widget", "True")).To(BeZero())
			Remove(w)
			Eventually(func() float64 { return Metric(objects, "widget") }).Should(BeZero())
			steps[0].set(engine.Done(), nil)
			r.stop()
		}
	})

	It("do not change for objects that a restarted operator finds unchanged", func() {
		w := widget()
		cfg := engine.Config[*Widget]{Owns: owned}
		kind := composing(quota(w.Namespace, "q", "pods", "3"), claim(w.Namespace, "data"))
		r := start(widgets(kind, cfg))
		AwaitReady(w)
		Eventually(events(w)).Should(HaveLen(1))
		r.stop()
		runs, moved := kind.Runs(), Metric(transitions, "widget")
		again := start(widgets(kind, cfg))
		Eventually(kind.Runs).Should(BeNumerically(">", runs))
		Consistently(again.Writes).Should(BeEmpty())
		Expect(Metric(transitions, "widget")).To(Equal(moved))
		Expect(events(w)()).To(HaveLen(1))
	})
})

var _ = Describe("References", func() {
	// looking blocks until what a Widget refers to is there.
	looking := func(find func(context.Context, engine.Scope[*Widget]) error) script[*Widget] {
		return func(s engine.Scope[*Widget]) []engine.Step {
			return []engine.Step{{Condition: "Resolved", Run: func(ctx context.Context) (engine.Outcome, error) {
				if err := find(ctx, s); apierrors.IsNotFound(err) {
					return engine.Block("Missing", "make it"), nil
				} else if err != nil {
					return engine.Outcome{}, err
				}
				return engine.Done(), nil
			}}}
		}
	}

	It("requeue a blocked object when what it refers to is created or deleted", func() {
		kind := looking(func(ctx context.Context, s engine.Scope[*Widget]) error {
			return s.Client.Get(ctx, client.ObjectKey{Name: s.Obj.Spec.Gadget}, &Gadget{})
		})
		start(widgets(kind, engine.Config[*Widget]{References: []engine.Reference[*Widget]{{
			To: &Gadget{}, Keys: func(w *Widget) []client.ObjectKey { return []client.ObjectKey{{Name: w.Spec.Gadget}} },
		}}}))
		w := widget(func(w *Widget) { w.Spec.Gadget = "g-" + w.Namespace })
		Eventually(Ready(w)).Should(Equal("False Missing"))
		g := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: w.Spec.Gadget}})
		AwaitReady(w)
		Remove(g)
		Eventually(Ready(w)).Should(Equal("False Missing"))
	})

	It("requeue nothing when what they refer to changes in another way", func() {
		all, kind := levers("Resolved")
		start(widgets(kind, engine.Config[*Widget]{References: []engine.Reference[*Widget]{{
			To:      &Gadget{},
			Keys:    func(w *Widget) []client.ObjectKey { return []client.ObjectKey{{Name: w.Spec.Gadget}} },
			Changed: func(before, now client.Object) bool { return before.(*Gadget).Spec.Value != now.(*Gadget).Spec.Value },
		}}}))
		w := widget(func(w *Widget) { w.Spec.Gadget = "g-" + w.Namespace })
		g := made(&Gadget{ObjectMeta: metav1.ObjectMeta{Name: w.Spec.Gadget}})
		AwaitReady(w)
		runs := all[0].Runs
		var settled int
		Eventually(func(g Gomega) {
			settled = runs()
			g.Consistently(runs).Should(Equal(settled))
		}).Should(Succeed())
		Annotate(g, "a", "b")
		Consistently(runs).Should(Equal(settled))
		Patch(g, `{"spec":{"value":"v"}}`)
		Eventually(runs).Should(Equal(settled + 1))
		Remove(g)
		Eventually(runs).Should(Equal(settled + 2))
	})

	It("to ConfigMaps are watched without their contents", func() {
		kind := looking(func(ctx context.Context, s engine.Scope[*Widget]) error {
			return s.Live.Get(ctx, client.ObjectKey{Namespace: s.Obj.Namespace, Name: s.Obj.Spec.ConfigMap}, &corev1.ConfigMap{})
		})
		counted := Metric("platform_operator_api_writes_total", "widget")
		r := start(widgets(kind, engine.Config[*Widget]{References: []engine.Reference[*Widget]{{
			To: &corev1.ConfigMap{}, Keys: func(w *Widget) []client.ObjectKey {
				return []client.ObjectKey{{Namespace: w.Namespace, Name: w.Spec.ConfigMap}}
			},
		}}}))
		w := widget(func(w *Widget) { w.Spec.ConfigMap = "settings" })
		Eventually(Ready(w)).Should(Equal("False Missing"))
		Create(&corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Name: "settings", Namespace: w.Namespace},
		})
		AwaitReady(w)

		var lists int
		for _, req := range r.Reads("configmaps") {
			if !strings.HasSuffix(req.URL.Path, "/settings") {
				lists++
				Expect(req.Header.Get("Accept")).To(ContainSubstring("as=PartialObjectMetadata"), req.URL.String())
			}
		}
		Expect(lists).NotTo(BeZero())
		Expect(Metric("platform_operator_api_writes_total", "widget")-counted).To(BeEquivalentTo(len(r.Writes())), "live reads do not count")
	})
})
