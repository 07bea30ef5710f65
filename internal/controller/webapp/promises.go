// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
)

// maxPromises is how many claims are promised at once; beyond them the oldest are forgotten.
const maxPromises = 10_000

// promises are the claims that were granted, and are not on record yet: the status is written at the end of a run, after the
// Ingress, and until the cache shows it, no other WebApp may get the claim. Goroutines may share it.
type promises struct {
	mu  sync.Mutex
	all *lru.Cache // the UID of a WebApp by claim
}

func newPromises() *promises { return &promises{all: lru.New(maxPromises)} }

// of is the WebApp that a claim is promised to; empty when it is promised to none.
func (p *promises) of(claim string) types.UID {
	uid, _ := p.all.Get(claim)
	to, _ := uid.(types.UID)
	return to
}

// exchange promises a claim to another WebApp, or to none, unless somebody else has done so since it was looked up. Who was
// promised the claim then was in the cache before, so that a list of the rivals made since has it, or it is gone.
func (p *promises) exchange(claim string, from, to types.UID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.of(claim) != from:
		return false
	case to == "":
		p.all.Remove(claim)
	case to != from:
		p.all.Add(claim, to)
	}
	return true
}
