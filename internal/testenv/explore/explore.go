// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explore explores all that may happen in a model: each state is one world, from which others follow.
package explore

import (
	"fmt"
	"slices"
)

// Space is a model. W is a world, and K what two worlds have in common if they are the same.
type Space[W any, K comparable] struct {
	First W
	Key   func(W) K
	// Next calls do with each world that may follow, and what leads to it.
	Next func(w W, do func(by string, x W))
	// Wrong says what must not be in a world; empty if nothing. It is called once for each world, in the order in which they are found.
	Wrong func(W) string
	// Depth is how many steps away from the first world is looked; 0: any number.
	Depth int
}

// Same is the key of worlds that can be compared.
func Same[W comparable](w W) W { return w }

// Search explores all worlds, the nearest ones first. It returns the shortest way to one that is wrong, whose last line says what is, and
// how many worlds there are.
func (s Space[W, K]) Search() (way []string, worlds int) {
	type visited struct {
		world    W
		from, at int
		by       string
	}
	all, known := []visited{{s.First, -1, 0, "at first"}}, map[K]bool{s.Key(s.First): true}
	for i := 0; i < len(all); i++ {
		v := all[i]
		if wrong := s.Wrong(v.world); wrong != "" {
			way = append(way, wrong)
			for at := i; at >= 0; at = all[at].from {
				way = append(way, fmt.Sprintf("%s: %+v", all[at].by, all[at].world))
			}
			slices.Reverse(way)
			return way, len(all)
		}
		if s.Depth > 0 && v.at == s.Depth {
			continue
		}
		s.Next(v.world, func(by string, x W) {
			if key := s.Key(x); !known[key] {
				known[key] = true
				all = append(all, visited{x, i, v.at + 1, by})
			}
		})
	}
	return nil, len(all)
}
