// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A Waker", func() {
	It("requeues the object that it names, and no other", func(ctx context.Context) {
		waker := engine.NewWaker()
		steps, kind := levers("First")
		start(widgets(kind, engine.Config[*Widget]{Waker: waker}))
		w := widget()
		AwaitReady(w)
		other := widget()
		AwaitReady(other)

		steps[0].set(engine.Block("BadColour", "choose red or blue"), nil)
		waker.Wake(ctx, client.ObjectKeyFromObject(w))
		Eventually(Ready(w)).Should(Equal("False BadColour"))
		Expect(Ready(other)()).To(Equal("True Ready"))
		waker.Wake(ctx, client.ObjectKey{Namespace: w.Namespace, Name: "nobody"})
	})

	It("waits no longer than its caller does", func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		cancel()
		engine.NewWaker().Wake(ctx, client.ObjectKey{Name: "w"})
	})
})
