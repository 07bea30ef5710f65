// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher

import (
	"sync"

	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// readings are the last readings of ConfigWatchers of annotated objects. When there are too many, the namespace that has the
// most loses the one that was not used for longest: a flood in one namespace makes the operator forget nothing of others.
type readings struct {
	mu    sync.Mutex
	most  int
	total int
	of    map[string]*lru.Cache // by namespace; by name
}

func newReadings(most int) *readings { return &readings{most: most, of: map[string]*lru.Cache{}} }

func (r *readings) get(key client.ObjectKey) (reading, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.of[key.Namespace]
	if own == nil {
		return reading{}, false
	}
	last, known := own.Get(key.Name)
	if !known {
		return reading{}, false
	}
	return last.(reading), true
}

func (r *readings) add(key client.ObjectKey, last reading) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := r.of[key.Namespace]
	if own == nil {
		own = lru.New(0)
		r.of[key.Namespace] = own
	}
	before := own.Len()
	own.Add(key.Name, last)
	if r.total += own.Len() - before; r.total > r.most {
		r.forgetOne()
	}
}

func (r *readings) forgetOne() {
	largest := ""
	for namespace, own := range r.of {
		if largest == "" || own.Len() > r.of[largest].Len() {
			largest = namespace
		}
	}
	r.of[largest].RemoveOldest()
	r.total--
	if r.of[largest].Len() == 0 {
		delete(r.of, largest)
	}
}
