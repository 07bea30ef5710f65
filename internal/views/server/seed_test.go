// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A run that fails can be repeated: what is drawn follows from the seed alone.
func TestTheSeedDecides(t *testing.T) {
	draw := func() (drawn []string) {
		w := &world{Rand: rand.New(rand.NewPCG(1, 1)), objects: map[string]client.Object{}}
		m := &model{Rand: rand.New(rand.NewPCG(1, 2)), uids: map[string]string{}}
		for i := range 50 {
			name := fmt.Sprint("n-", i)
			w.objects[name], m.uids[name] = &rbacv1.Role{}, name
		}
		drawn = w.dropped()
		for range 10 {
			drawn = append(drawn, m.namespace())
		}
		return drawn
	}
	first := draw()
	for range 5 {
		if again := draw(); !slices.Equal(again, first) {
			t.Fatalf("%v\n%v", first, again)
		}
	}
}
