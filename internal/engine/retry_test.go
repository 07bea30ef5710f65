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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// By doubling alone, 15 tries take 14 minutes.
var _ = Describe("RetryMax", func() {
	It("bounds the time between two tries of an object", func() {
		steps, kind := levers("First")
		steps[0].set(engine.Outcome{}, errors.New("not yet"))
		start(widgets(kind, engine.Config[*Widget]{RetryMax: 100 * time.Millisecond}))
		widget()
		Eventually(steps[0].Runs).Should(BeNumerically(">=", 15))
	})

	It("bounds the time between two tries of an annotated object", func() {
		var runs atomic.Int64
		start(func(mgr ctrl.Manager) error {
			return engine.RegisterAnnotated(mgr, engine.Annotated{
				Name: "annotated", Of: &corev1.ConfigMap{}, RetryMax: 100 * time.Millisecond,
				Selects: func(o client.Object) bool { return o.GetName() == "asks" },
				Run: func(context.Context, *metav1.PartialObjectMetadata) (engine.Outcome, error) {
					runs.Add(1)
					return engine.Outcome{}, errors.New("not yet")
				},
			})
		})
		made(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace(), Name: "asks"}})
		Eventually(runs.Load).Should(BeNumerically(">=", 15))
	})
})
