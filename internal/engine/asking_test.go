// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/engine"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// asker is a kind whose objects ask the outside: those whose value is "hang" get no answer.
func asker(asked *atomic.Int32, hang <-chan struct{}) script[*Widget] {
	topic := engine.NewTopic("value", func(ctx context.Context, value string) (string, error) {
		asked.Add(1)
		if value == "hang" {
			select {
			case <-hang:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		if value == "bad" {
			return "", fmt.Errorf("no ledger")
		}
		return "answer to " + value, nil
	})
	return func(s engine.Scope[*Widget]) []engine.Step {
		return []engine.Step{{Condition: "Asked", Run: func(context.Context) (engine.Outcome, error) {
			answer, answered, err := engine.Ask(s, topic, s.Obj.Spec.Value)
			switch {
			case err != nil:
				return engine.Outcome{}, engine.Explain(err, "BillingFailed", "it cannot be asked")
			case !answered:
				return engine.Wait(time.Minute, "Asking", "it is being asked"), nil
			default:
				return engine.Done().Saying(answer), nil
			}
		}}}
	}
}

var _ = Describe("The outside", func() {
	var asked *atomic.Int32
	BeforeEach(func() { asked = &atomic.Int32{} })

	It("that hangs for 30 objects takes no worker from others, and requeues each one that it answers", func() {
		hang := make(chan struct{})
		hanging := func(s engine.Scope[*Widget]) []engine.Step {
			if s.Obj.Spec.Value == "hang" {
				return asker(asked, hang)(s)
			}
			return []engine.Step{{Condition: "Made", Run: func(context.Context) (engine.Outcome, error) { return engine.Done(), nil }}}
		}
		start(widgets(script[*Widget](hanging), engine.Config[*Widget]{OutsideWorkers: 4, OutsideTimeout: time.Hour}))
		ns := Namespace()
		var stuck []*Widget
		for i := range 30 {
			stuck = append(stuck, made(&Widget{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("w%d", i), Namespace: ns}, Spec: Spec{Value: "hang"},
			}))
		}
		for _, w := range stuck {
			Eventually(Ready(w)).Should(Equal("False Asking"))
		}
		w := widget()
		Eventually(Ready(w)).Should(Equal("True Ready"), "before any of them is answered")
		close(hang)
		for _, w := range stuck {
			AwaitReady(w)
		}
		Expect(asked.Load()).To(BeEquivalentTo(30))
	})

	It("is called again with growing delays after an error, and the condition does not change", func() {
		r := start(widgets(asker(asked, nil), engine.Config[*Widget]{RetryMax: 100 * time.Millisecond}))
		w := widget(func(w *Widget) { w.Spec.Value = "bad" })
		Eventually(Ready(w)).Should(Equal("False BillingFailed"))
		r.Forget()
		before := asked.Load()
		Eventually(asked.Load).Should(BeNumerically(">", before+3))
		Expect(r.Writes()).To(BeEmpty())

		Patch(w, `{"spec":{"value":"good"}}`)
		Eventually(conditions(w)).Should(ContainElement("Asked=True Done: answer to good"))
	})
})
