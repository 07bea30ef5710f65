// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package fair

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

func TestShare(t *testing.T) {
	for n, want := range map[int]int{0: 1, 1: 1, 2: 1, 7: 1, 8: 2, 20: 5, 30: 7} {
		if got := Share(n); got != want {
			t.Errorf("Share(%d) = %d, want %d", n, got, want)
		}
	}
}

// model is Places with those who have or want one, in the order in which they asked.
type model struct {
	n      int
	places *Places
	of     map[string][]*Place
	// passed counts, for a tenant that waits and may have a place but for the others, how often each other one got one meanwhile.
	passed map[string]map[string]int
	faults []string
}

var tenants = []string{"a", "b", "c"}

// replay makes Places and does what a path says: a letter asks for its tenant, a capital one has that tenant's first one leave, and a
// capital letter after "-" the last one.
func replay(n int, path string) *model {
	m := &model{n: n, places: NewPlaces(n), of: map[string][]*Place{}, passed: map[string]map[string]int{}}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; {
		case c == '-':
			i++
			tenant := strings.ToLower(path[i : i+1])
			last := len(m.of[tenant]) - 1
			m.leave(tenant, last)
		case c < 'a':
			m.leave(strings.ToLower(string(c)), 0)
		default:
			m.ask(string(c))
		}
		m.check()
	}
	return m
}

func (m *model) ask(tenant string) {
	x := m.places.Ask(tenant, func() { m.got(tenant) })
	if x.Has() {
		m.got(tenant)
	}
	m.of[tenant] = append(m.of[tenant], x)
}

func (m *model) leave(tenant string, i int) {
	x := m.of[tenant][i]
	m.of[tenant] = slices.Delete(m.of[tenant], i, i+1)
	x.Leave()
	x.Leave()
}

// got notes that a tenant got a place.
func (m *model) got(tenant string) {
	delete(m.passed, tenant)
	for waiting := range m.passed {
		m.passed[waiting][tenant]++
		if n := m.passed[waiting][tenant]; n > 1 {
			m.faults = append(m.faults, fmt.Sprintf("%s has %d turns while %s waits", tenant, n, waiting))
		}
	}
}

// count is how many places a tenant has, and how many it waits for.
func (m *model) count(tenant string) (has, waits int) {
	for _, x := range m.of[tenant] {
		if x.Has() {
			has++
		} else {
			waits++
		}
	}
	return has, waits
}

func (m *model) check() {
	free := m.places.free
	for _, tenant := range tenants {
		has, waits := m.count(tenant)
		free += has
		may := waits > 0 && has < m.places.shares.Each
		switch {
		case has > m.places.shares.Each:
			m.faults = append(m.faults, tenant+" has more than its share")
		case may && m.places.free > 0:
			m.faults = append(m.faults, tenant+" waits although a place is free")
		case !may:
			delete(m.passed, tenant)
		case m.passed[tenant] == nil:
			m.passed[tenant] = map[string]int{}
		}
	}
	if free != m.n {
		m.faults = append(m.faults, fmt.Sprintf("%d places in all, want %d", free, m.n))
	}
}

// state is all that what may follow depends on.
func (m *model) state() string {
	text := fmt.Sprint(m.places.free, m.places.waiting.order, m.passed)
	for _, tenant := range tenants {
		text += "|"
		for _, x := range m.of[tenant] {
			text += fmt.Sprint(x.Has())
		}
	}
	return text
}

// next are the paths that follow a path: each tenant asks for at most three, and its first or last one leaves.
func (m *model) next(path string) (all []string) {
	for _, tenant := range tenants {
		n, capital := len(m.of[tenant]), strings.ToUpper(tenant)
		if n < 3 {
			all = append(all, path+tenant)
		}
		if n > 0 {
			all = append(all, path+capital)
		}
		if n > 1 {
			all = append(all, path+"-"+capital)
		}
	}
	return all
}

// TestPlaces tries all that three tenants may do with few places, from each state that can be reached: no tenant has more than its
// share, no place is free while one waits that may have it, and each other one has one turn at most meanwhile.
func TestPlaces(t *testing.T) {
	for _, n := range []int{1, 2, 8} {
		seen := map[string]bool{}
		for todo := []string{""}; len(todo) > 0; {
			path := todo[0]
			todo = todo[1:]
			m := replay(n, path)
			if len(m.faults) > 0 {
				t.Fatalf("%d places, %s: %s", n, path, m.faults)
			}
			if state := m.state(); !seen[state] {
				seen[state] = true
				todo = append(todo, m.next(path)...)
			}
		}
		t.Logf("%d places: %d states", n, len(seen))
	}
}

func TestAcquire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPlaces(1)
		first, err := p.Acquire(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		late, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { _, err := p.Acquire(late, "b"); ended <- err }()
		got := make(chan func())
		go func() { release, _ := p.Acquire(t.Context(), "c"); got <- release }()
		synctest.Wait()
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("who gives up has %v", err)
		}
		first()
		(<-got)()
		if p.free != 1 || !p.waiting.Empty() || len(p.shares.of) > 0 {
			t.Error("something is left")
		}
	})
}

func TestLanes(t *testing.T) {
	l := Lanes[string]{Every: 3}
	for _, x := range []string{"a1", "a2", "a3", "b1", "b2"} {
		l.Push(0, x[:1], x)
	}
	for _, x := range []string{"a1", "c1", "c2", "d1"} {
		l.Push(1, x[:1], x)
	}
	var got []string
	for {
		x, popped := l.Pop(func(tenant string) bool { return tenant != "d" }, func(lane int, x string) bool { return lane == 0 || x != "a1" })
		if !popped {
			break
		}
		got = append(got, x)
	}
	if want := "[a1 b1 c1 a2 b2 c2 a3]"; fmt.Sprint(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
	if l.Empty() {
		t.Error("what may not be served is lost")
	}
	l.Clear()
	if !l.Empty() {
		t.Error("something is left")
	}
}
