// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A flood in one namespace makes the operator forget nothing of others, and takes no more memory than there is.
func TestReadingsOfANamespaceSurviveAFloodInAnother(t *testing.T) {
	r := newReadings(10)
	key := func(namespace string, i int) client.ObjectKey {
		return client.ObjectKey{Namespace: namespace, Name: fmt.Sprint("w", i)}
	}
	for i := range 3 {
		r.add(key("quiet", i), reading{owner: types.UID(fmt.Sprint(i))})
	}
	for i := range 1000 {
		r.add(key("flood", i), reading{})
		r.add(key("flood", 0), reading{owner: "again"})
	}
	for i := range 1000 {
		last, known := r.get(key("flood", i))
		if kept := i == 0 || i > 993; known != kept || i == 0 && last.owner != "again" {
			t.Errorf("flood %d: %v, %v", i, last, known)
		}
	}
	for i := range 3 {
		if last, known := r.get(key("quiet", i)); !known || last.owner != types.UID(fmt.Sprint(i)) {
			t.Errorf("quiet %d: %v, %v", i, last, known)
		}
	}
	for i := range 1000 {
		r.add(key(fmt.Sprint("n", i), 0), reading{})
	}
	if r.total != 10 || len(r.of) > 10 {
		t.Errorf("%d readings of %d namespaces are kept", r.total, len(r.of))
	}
	if _, known := r.get(key("unknown", 0)); known {
		t.Error("an unknown one is known")
	}
}
