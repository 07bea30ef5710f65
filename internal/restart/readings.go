// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// Readings are what objects have read of sources that they share, each at moments of its own. The one that sees a change
// first records the templates of its workloads; for those that see it later they hold as well, so that the workload rolls
// once. They hold as long as no reading has found anything else: then all that is known is what each object itself has seen.
//
// Like all memory of a process it may be lost, which is a restart more at worst.
type Readings struct {
	mu      sync.Mutex
	clock   int64 // counts beginnings and ends of readings
	sources *lru.Cache
	evicted int64 // when the last reading ended of the sources that are not remembered any more
}

// maxShared is of how many sources the readings are remembered.
const maxShared = 1000

// reading is what a source has held since it was read first.
type reading struct {
	Hash string
	// Certain: that first reading began after the last one that found anything else had ended. Of two that overlap nobody
	// knows which saw the later content.
	Certain bool
	// Ended is when the last reading ended.
	Ended int64
	// Templates were read after the content was.
	Templates map[types.UID]common.WorkloadTemplate
}

// found is what a source has held once another reading has ended.
func (r *reading) found(hash string, began, ended int64) *reading {
	if r.Hash != hash || !r.Certain {
		r = &reading{Hash: hash, Certain: began > r.Ended, Templates: map[types.UID]common.WorkloadTemplate{}}
	}
	r.Ended = ended
	return r
}

// share replaces templates by those that were read earlier, and keeps the others for those that see the content later.
func (r *reading) share(templates []common.WorkloadTemplate) {
	for i, t := range templates {
		if was := r.Templates[t.UID]; was.Template != "" {
			templates[i] = was
		} else {
			r.Templates[t.UID] = t
		}
	}
}

// Begin is called before a source is read. What it gives is for End.
func (r *Readings) Begin() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	return r.clock
}

// End records what a reading has found, before anybody acts on it. The name identifies the source among all that objects share.
func (r *Readings) End(name string, found Hash, began int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clock++
	r.sources.Add(name, r.of(name).found(found.old, began, r.clock))
}

// of is what a source has held.
func (r *Readings) of(name string) *reading {
	if r.sources == nil {
		r.sources = lru.NewWithEvictionFunc(maxShared, func(_ lru.Key, is any) { r.evicted = max(r.evicted, is.(*reading).Ended) })
	}
	if is, known := r.sources.Get(name); known {
		return is.(*reading)
	}
	return &reading{Ended: r.evicted}
}

// sharing gives what puts earlier templates in the place of those that a request reads from now on. It does nothing unless
// all that the request has observed is one source, which is shared and is known to hold that still.
func (r *Readings) sharing(req Request) func([]common.WorkloadTemplate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(req.Observed) == 1 && req.Observed[0].Shared != "" {
		o := req.Observed[0]
		if is := r.of(o.Shared); is.Certain && is.Hash == o.Hash.old {
			return func(templates []common.WorkloadTemplate) {
				r.mu.Lock()
				defer r.mu.Unlock()
				is.share(templates)
			}
		}
	}
	return func([]common.WorkloadTemplate) {}
}
