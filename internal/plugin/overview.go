// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Row is an object in an overview.
type Row struct {
	// Kind, Namespace and Name are the object's.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// State is how it is.
	State
}

// Overview is everything of the operator's in a namespace, or in all, the worst first.
type Overview struct {
	// Objects are the rows.
	Objects []Row `json:"objects"`
	// Hidden is what the user may not see.
	Hidden []string `json:"hidden,omitempty"`
}

// RowOf returns the row of an object.
func RowOf(k Kind, o *unstructured.Unstructured) Row {
	return Row{k.Kind, o.GetNamespace(), o.GetName(), StateOf(o, k.Status)}
}

// Sort puts the worst first; of equals, what is so for the shortest time, which is most likely the cause.
func (o *Overview) Sort() {
	slices.SortFunc(o.Objects, func(a, b Row) int {
		return cmp.Or(cmp.Compare(severity[a.State.State], severity[b.State.State]), rank(a, b), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
}

// rank orders what is not well by time; what is well by name alone.
func rank(a, b Row) int {
	if severity[a.State.State] >= severity[Paused] {
		return 0
	}
	return b.Since.Compare(a.Since.Time)
}
