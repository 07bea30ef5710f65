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
