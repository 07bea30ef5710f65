// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package places counts who does something at the same time, so that one user does not keep out the others.
package places

import (
	"strings"
	"sync"

	"github.com/acme/platform-operator/internal/views/access"
)

// Places are how many may do something at once: all together, and each user. One user must not keep out the others.
type Places struct {
	max, each int

	mu     sync.Mutex
	taken  int
	byUser map[string]int
}

// New has some places for all together, and for each user.
func New(most, each int) *Places {
	return &Places{max: most, each: each, byUser: map[string]int{}}
}

// Take takes some places, until the function that it returns is called. False if there are not so many for the user.
func (p *Places) Take(name string, n int) (free func(), ok bool) {
	who := accountable(name)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken+n > p.max || p.byUser[who]+n > p.each {
		return nil, false
	}
	p.taken += n
	p.byUser[who] += n
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.taken -= n
		if p.byUser[who] -= n; p.byUser[who] == 0 {
			delete(p.byUser, who)
		}
	}), true
}

// Exhausted reports whether a user has not so many places left, however many there are for all.
func (p *Places) Exhausted(name string, n int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.byUser[accountable(name)]+n > p.each
}

// Taken is how many places are taken: by all, and by a user.
func (p *Places) Taken(name string) (all, user int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.taken, p.byUser[accountable(name)]
}

// accountable is the user who is counted: all service accounts of a namespace are one, because users who may create them there may
// create any number.
func accountable(name string) string {
	account, ok := strings.CutPrefix(name, "system:serviceaccount:")
	if !ok {
		return name
	}
	namespace, _, _ := strings.Cut(account, ":")
	return access.ServiceAccountName(namespace, "")
}
