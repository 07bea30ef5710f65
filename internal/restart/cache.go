// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"sync"

	"k8s.io/utils/lru"
)

// Remembered is of how many objects, or sources of objects, something is remembered that need not survive the operator.
const Remembered = 10_000

// Cache remembers values by namespace and key. When there are too many, the namespace that has the most loses the one that was
// not used for longest: a flood in one namespace makes the operator forget nothing of others. Goroutines may share it.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	most  int
	total int
	of    map[string]*lru.Cache // by namespace
}

// NewCache gives a Cache that keeps at most so many values.
func NewCache[K comparable, V any](most int) *Cache[K, V] {
	return &Cache[K, V]{most: most, of: map[string]*lru.Cache{}}
}

// Get gives the value of a key, if it is known.
func (c *Cache[K, V]) Get(namespace string, key K) (value V, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.of[namespace]
	if own == nil {
		return value, false
	}
	last, known := own.Get(key)
	if !known {
		return value, false
	}
	return last.(V), true
}

// Add sets the value of a key.
func (c *Cache[K, V]) Add(namespace string, key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.change(namespace, func(own *lru.Cache) { own.Add(key, value) })
	if c.total > c.most {
		c.change(c.largest(), (*lru.Cache).RemoveOldest)
	}
}

// Remove forgets a key.
func (c *Cache[K, V]) Remove(namespace string, key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.change(namespace, func(own *lru.Cache) { own.Remove(key) })
}

// change changes what is remembered of a namespace.
func (c *Cache[K, V]) change(namespace string, change func(*lru.Cache)) {
	own := c.of[namespace]
	if own == nil {
		own = lru.New(0)
		c.of[namespace] = own
	}
	before := own.Len()
	change(own)
	c.total += own.Len() - before
	if own.Len() == 0 {
		delete(c.of, namespace)
	}
}

// largest is the namespace of which most is remembered.
func (c *Cache[K, V]) largest() string {
	largest := ""
	for namespace, own := range c.of {
		if largest == "" || own.Len() > c.of[largest].Len() {
			largest = namespace
		}
	}
	return largest
}
