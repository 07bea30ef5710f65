// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fair gives what is scarce in turns of tenants, so that what one of them does keeps no other waiting: workers, places for
// large objects, pages of lists, calls to the outside.
package fair

import (
	"context"
	"slices"
)

type tenantKey struct{}

// For returns a context in which what is scarce is asked for on behalf of a tenant.
func For(ctx context.Context, tenant string) context.Context {
	return context.WithValue(ctx, tenantKey{}, tenant)
}

// Tenant returns the tenant on whose behalf a context is; the empty string if nobody has said.
func Tenant(ctx context.Context) string {
	tenant, _ := ctx.Value(tenantKey{}).(string)
	return tenant
}

// Share is how many of n one tenant has at most: a quarter, and at least one.
func Share(n int) int { return max(1, n/4) }

// Shares count what each tenant has. Each is how many one tenant may have.
type Shares struct {
	Each int
	of   map[string]int
}

// Left is how many more a tenant may have; negative if it was given more.
func (s *Shares) Left(tenant string) int { return s.Each - s.of[tenant] }

// May reports whether a tenant may have one more.
func (s *Shares) May(tenant string) bool { return s.Left(tenant) > 0 }

// Take counts one that a tenant gets.
func (s *Shares) Take(tenant string) {
	if s.of == nil {
		s.of = map[string]int{}
	}
	s.of[tenant]++
}

// Give counts one that a tenant gives back.
func (s *Shares) Give(tenant string) {
	if s.of[tenant]--; s.of[tenant] == 0 {
		delete(s.of, tenant)
	}
}

// Lane has what waits. Each tenant has one served in its turn, and those of a tenant are served as they came. The zero value is empty.
type Lane[T any] struct {
	order []string // the tenants that have any, in the order of their turns
	of    map[string][]T
}

// Empty reports whether nothing waits.
func (l *Lane[T]) Empty() bool { return len(l.order) == 0 }

// Push adds a thing of a tenant.
func (l *Lane[T]) Push(tenant string, x T) {
	if l.of == nil {
		l.of = map[string][]T{}
	}
	if len(l.of[tenant]) == 0 {
		l.order = append(l.order, tenant)
	}
	l.of[tenant] = append(l.of[tenant], x)
}

// Pop removes the first thing of the next tenant that may have it. A tenant that may not keeps its turn.
func (l *Lane[T]) Pop(may func(tenant string) bool) (x T, popped bool) {
	return l.pop(may, func(T) bool { return true })
}

// pop is Pop that drops the things on its way that are not there any more: they cost their tenant no turn.
func (l *Lane[T]) pop(may func(tenant string) bool, is func(T) bool) (x T, popped bool) {
	for i := 0; i < len(l.order); {
		tenant := l.order[i]
		if !may(tenant) {
			i++
			continue
		}
		x = l.of[tenant][0]
		clear(l.of[tenant][:1]) // what is popped is not kept
		more, there := l.set(tenant, l.of[tenant][1:]), is(x)
		if there || !more {
			l.order = slices.Delete(l.order, i, i+1)
		}
		if there && more {
			l.order = append(l.order, tenant)
		}
		if there {
			return x, true
		}
	}
	var none T
	return none, false
}

// Remove removes the things of a tenant that a function selects.
func (l *Lane[T]) Remove(tenant string, selects func(T) bool) {
	if len(l.of[tenant]) > 0 && !l.set(tenant, slices.DeleteFunc(l.of[tenant], selects)) {
		l.order = slices.DeleteFunc(l.order, func(t string) bool { return t == tenant })
	}
}

// set sets what waits of a tenant, and reports whether that is anything.
func (l *Lane[T]) set(tenant string, all []T) bool {
	if len(all) == 0 {
		delete(l.of, tenant)
		return false
	}
	l.of[tenant] = all
	return true
}

// Lanes are two lanes: the first is served before the second, but of so many things (Every) one is of the second first, so that
// nothing starves. A thing that is in both is served from that which the function of Pop says.
type Lanes[T any] struct {
	Every  int
	lanes  [2]Lane[T]
	popped int
}

// Push adds a thing of a tenant to the first lane, 0, or the second, 1.
func (l *Lanes[T]) Push(lane int, tenant string, x T) { l.lanes[lane].Push(tenant, x) }

// Pop removes a thing of a tenant that may have it. Those of which the function is says that they are in the other lane, or do not
// wait, are dropped.
func (l *Lanes[T]) Pop(may func(tenant string) bool, is func(lane int, x T) bool) (x T, popped bool) {
	first := 0
	if (l.popped+1)%l.Every == 0 {
		first = 1
	}
	for _, i := range []int{first, 1 - first} {
		if x, popped := l.lanes[i].pop(may, func(x T) bool { return is(i, x) }); popped {
			l.popped++
			return x, true
		}
	}
	return x, false
}

// Empty reports whether nothing is in the lanes.
func (l *Lanes[T]) Empty() bool { return l.lanes[0].Empty() && l.lanes[1].Empty() }

// Clear drops all that is in the lanes.
func (l *Lanes[T]) Clear() { l.lanes = [2]Lane[T]{} }
