// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("What an object records by UID", func() {
	It("requeues it when the change concerns it, and no other object", func() {
		all, kind := levers("Done")
		start(widgets(kind, engine.Config[*Widget]{Watches: []engine.Watch[*Widget]{{
			Of:       &corev1.ServiceAccount{},
			UIDs:     func(w *Widget) []types.UID { return []types.UID{types.UID(w.Spec.Value)} },
			Concerns: func(_ *Widget, changed client.Object) bool { return changed.GetAnnotations()["concerns"] != "" },
		}}}))
		ns := Namespace()
		remembered := made(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "remembered"}})
		other := made(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "other"}})
		w := widget(func(w *Widget) { w.Spec.Value = string(remembered.UID) })
		AwaitReady(w)
		runs := all[0].Runs()

		Annotate(other, "concerns", "yes")
		Annotate(remembered, "anything", "else")
		Annotate(remembered, "concerns", "yes")
		Eventually(all[0].Runs).Should(Equal(runs + 1))
		Consistently(all[0].Runs, "300ms").Should(Equal(runs + 1))
	})
})

var _ = Describe("An annotated object", func() {
	const asks = "test.acme.com/asks"
	var runs, fails atomic.Int64

	register := func(mgr ctrl.Manager) error {
		return engine.RegisterAnnotated(mgr, engine.Annotated{
			Name: "annotated", Of: &corev1.ConfigMap{}, RetryMax: 100 * time.Millisecond,
			Selects: func(o client.Object) bool { return o.GetAnnotations()[asks] != "" },
			Run: func(_ context.Context, o *metav1.PartialObjectMetadata) (engine.Outcome, error) {
				runs.Add(1)
				if fails.Add(-1) >= 0 {
					return engine.Outcome{}, errors.New("not yet")
				}
				if o.Annotations[asks] == "again" && runs.Load() < 5 {
					return engine.DoneUntil(time.Millisecond), nil
				}
				return engine.Done(), nil
			},
		})
	}

	BeforeEach(func() {
		runs.Store(0)
		fails.Store(0)
	})

	It("is reconciled when its annotation requests it, and at its changes", func() {
		start(register)
		ns := Namespace()
		made(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "silent"}})
		cm := made(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "asking", Annotations: map[string]string{asks: "once"}}})
		Eventually(runs.Load).Should(Equal(int64(1)))
		Patch(cm, `{"data":{"k":"v"}}`)
		Eventually(runs.Load).Should(Equal(int64(2)))
		Annotate(cm, asks, "")
		Eventually(runs.Load).Should(Equal(int64(3)), "once more when it does not ask any more")
		Patch(cm, `{"data":{"k":"w"}}`)
		Consistently(runs.Load, "300ms").Should(Equal(int64(3)))
	})

	It("is retried after errors, and looked at again when a run requests it", func() {
		fails.Store(3)
		start(register)
		made(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace(), Name: "asking", Annotations: map[string]string{asks: "again"}}})
		Eventually(runs.Load).Should(Equal(int64(5)))
	})
})
