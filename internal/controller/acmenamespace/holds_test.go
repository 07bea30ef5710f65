// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What the caches hold whole is what Compose compares with: no more, and no less.
func TestTheGuardrailsAreHeld(t *testing.T) {
	for _, h := range Holds {
		for _, name := range append(h.Names, "else") {
			o := h.Of.DeepCopyObject().(client.Object)
			o.SetName(name)
			if isGuardrail(nil, o) != (name != "else") {
				t.Errorf("%T %s: held, and no guardrail, or the other way round", o, name)
			}
		}
	}
	if len(Holds) != 5 {
		t.Errorf("%d types are held", len(Holds))
	}
}
