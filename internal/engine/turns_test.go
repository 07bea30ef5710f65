// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// request is one such as a/1, of namespace a.
func request(text string) reconcile.Request {
	namespace, name, _ := strings.Cut(text, "/")
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

// begun is a queue that has begun.
func begun(workers int) *queue {
	q := newQueue(workers)
	q.begin("test", workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](time.Second, time.Minute))
	return q
}

// TestTurns adds requests, a listed one marked by "~", one that comes after a time by "+" and one that has failed by "!", and takes
// them out with all time in the world.
func TestTurns(t *testing.T) {
	for reason, c := range map[string]struct{ add, want string }{
		"as they came":                                  {"a/1 a/2 a/3", "a/1 a/2 a/3"},
		"namespaces take turns":                         {"a/1 a/2 a/3 b/1 c/1 c/2", "a/1 b/1 c/1 a/2 c/2 a/3"},
		"once each":                                     {"a/1 b/1 a/1 a/1 c/1", "a/1 b/1 c/1"},
		"cluster-scoped ones as they came":              {"/1 /2 /3", "/1 /2 /3"},
		"listed ones last":                              {"~a/1 ~a/2 b/1 a/3", "b/1 a/3 a/1 a/2"},
		"listed ones take turns":                        {"~a/1 ~a/2 ~b/1", "a/1 b/1 a/2"},
		"listed ones are not starved":                   {"~b/1 ~b/2 a/1 a/2 a/3 a/4 a/5 a/6 a/7", "a/1 a/2 a/3 b/1 a/4 a/5 a/6 b/2 a/7"},
		"a listed one that changes moves up":            {"~a/1 ~a/2 ~b/1 a/2", "a/2 a/1 b/1"},
		"one that has changed and is listed stays":      {"a/1 ~a/2 ~a/1", "a/1 a/2"},
		"delayed ones come when their time has come":    {"+a/1 b/1", "b/1 a/1"},
		"one that has failed is listed no more":         {"!a/1 ~b/1 ~b/2", "b/1 b/2 a/1"},
		"one that waits for its time and changes":       {"+a/1 a/1 b/1", "a/1 b/1 a/1"},
		"one that was listed and moved up is done once": {"~a/1 a/1 ~a/2 a/2", "a/1 a/2"},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := begun(1)
			defer q.ShutDown()
			for add := range strings.FieldsSeq(c.add) {
				switch item := request(add[1:]); add[0] {
				case '~':
					q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, item)
				case '+':
					q.AddAfter(item, time.Second)
				case '!':
					q.AddRateLimited(item)
				default:
					q.Add(request(add))
				}
			}
			var got []string
			for q.Len() > 0 {
				item, priority, _ := q.GetWithPriority()
				if priority != 0 {
					t.Errorf("%s: %s is given the priority %d", reason, item, priority)
				}
				got = append(got, item.Namespace+"/"+item.Name)
				q.Done(item)
				if q.Len() == 0 {
					<-time.After(2 * time.Second) // of the fake clock
					synctest.Wait()
				}
			}
			if all := strings.Join(got, " "); all != c.want {
				t.Errorf("%s: %s, want %s", reason, all, c.want)
			}
			if n := len(q.turns.in) + len(q.turns.changed) + len(q.turns.waiting) + q.turns.ready + len(q.keeps); n > 0 || !q.turns.lanes.Empty() {
				t.Errorf("%s: %d things are kept", reason, n)
			}
		})
	}
}

// TestAddedInTheMeantime: a request that is added while it is served comes again, as one that has changed if it was once.
func TestAddedInTheMeantime(t *testing.T) {
	q := begun(1)
	defer q.ShutDown()
	a, b := request("a/1"), request("b/1")
	q.Add(a)
	if got, _ := q.Get(); got != a {
		t.Fatal(got)
	}
	q.Add(a)
	q.AddWithOpts(priorityqueue.AddOpts{Priority: new(-100)}, b, a)
	q.Done(a)
	for _, want := range []reconcile.Request{a, b} {
		if got, _ := q.Get(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestNoRequestIsLost pushes, pops and ends at random, and compares with a set: what waits is popped exactly once, no namespace has more
// than its share in work, there is something while one waits that has not, and a namespace waits for no more than one request of each
// other one. Who has a place comes first, whatever its namespace has in work, and passes others once.
func TestNoRequestIsLost(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		turns, waiting, placed, working := newTurns(8), map[reconcile.Request]bool{}, map[reconcile.Request]bool{}, map[string]int{}
		ready := func() (n int) {
			left := map[string]int{}
			for item := range waiting {
				if placed[item] {
					n++
				} else if left[item.Namespace]++; left[item.Namespace]+working[item.Namespace] <= 2 {
					n++
				}
			}
			return n
		}
		end := func() {
			for namespace, n := range working {
				if n > 0 {
					working[namespace]--
					turns.done(request(namespace + "/0"))
					return
				}
			}
		}
		alone, jumped := func() bool { // nothing but what has a place may be served
			return turns.Len() == len(slices.DeleteFunc(keys(waiting), func(w reconcile.Request) bool { return !placed[w] }))
		}, false
		var passed []string // since the first request of the last namespace came
		for range 400 {
			item := request(fmt.Sprintf("%c/%d", 'a'+random.IntN(4), random.IntN(6)))
			if random.IntN(2) == 0 {
				turns.note(item)
			}
			gets := random.IntN(10) == 0 && !placed[item]
			if gets {
				turns.place(item)
			}
			switch {
			case waiting[item]:
				turns.Touch(item)
				placed[item] = placed[item] || gets
			case gets || random.IntN(3) > 0:
				turns.Push(item)
				waiting[item], placed[item] = true, gets
			}
			if random.IntN(3) == 0 {
				end()
			}
			if turns.Len() != ready() {
				t.Fatalf("seed %d: %d are ready, want %d", seed, turns.Len(), ready())
			}
			if turns.Len() == 0 || random.IntN(2) == 0 {
				continue
			}
			onlyPlaced := alone()
			got := turns.Pop()
			if !waiting[got] {
				t.Fatalf("seed %d: %s was not waiting", seed, got)
			}
			some := slices.ContainsFunc(keys(waiting), func(w reconcile.Request) bool { return placed[w] })
			if want := some && (!jumped || onlyPlaced); placed[got] != want {
				t.Fatalf("seed %d: %s has a place: %v, want %v", seed, got, placed[got], want)
			}
			jumped = placed[got]
			delete(waiting, got)
			if working[got.Namespace]++; working[got.Namespace] > 2 && !placed[got] {
				t.Fatalf("seed %d: %s has more than its share", seed, got.Namespace)
			}
			delete(placed, got)
		}
		for range 400 {
			end()
		}
		for item := range waiting {
			turns.note(item)
			turns.Touch(item)
		}
		for len(waiting) > 0 {
			got := turns.Pop()
			if placed[got] {
				turns.done(got)
				delete(waiting, got)
				continue
			}
			if n := len(passed); n > 0 && passed[n-1] == got.Namespace && slices.ContainsFunc(keys(waiting), func(w reconcile.Request) bool {
				return w.Namespace != got.Namespace
			}) {
				t.Fatalf("seed %d: %s has two turns while others wait", seed, got.Namespace)
			}
			passed = append(passed, got.Namespace)
			turns.done(got)
			delete(waiting, got)
		}
	}
}

// TestAPlaceWakesAWorker has a request wait for a worker although one is free, since its namespace has its share in work, when it is given
// its place among the large ones. So has another one, before the run of the first has ended.
func TestAPlaceWakesAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := begun(8)
		defer q.ShutDown()
		for item := range strings.FieldsSeq("a/1 a/2 b/1 b/2") {
			q.Add(request(item))
			if got, _ := q.Get(); got != request(item) {
				t.Fatal(got)
			}
		}
		waits := []reconcile.Request{request("a/3"), request("b/3")}
		served := make(chan reconcile.Request, 2)
		for _, item := range waits {
			q.Add(item)
			go func() {
				got, _ := q.Get()
				served <- got
			}()
		}
		synctest.Wait()
		if len(served) > 0 {
			t.Fatal("a namespace has more than its share")
		}
		for _, item := range waits { // the second while the run of the first is on its way
			q.granted(item)
			synctest.Wait()
			if len(served) == 0 || <-served != item {
				t.Fatal("the place stands idle")
			}
		}
	})
}

func keys(m map[reconcile.Request]bool) (all []reconcile.Request) {
	for k := range m {
		all = append(all, k)
	}
	return all
}
