// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"context"
	"slices"

	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// events gives a function that lists the events of an object, oldest first, as "Type Reason".
func events(o client.Object) func() []string {
	return func() []string {
		var list eventsv1.EventList
		Expect(Admin.List(context.Background(), &list)).To(Succeed())
		slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
		lines := []string{}
		for _, e := range list.Items {
			if e.Regarding.UID != o.GetUID() {
				continue
			}
			lines = append(lines, e.Type+" "+e.Reason)
			if e.Series != nil {
				lines = append(lines, "repeated")
			}
		}
		return lines
	}
}
