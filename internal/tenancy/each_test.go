// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/fair"
	"github.com/acme/platform-operator/internal/testenv/paging"
)

// server is an API server with pods of a size, which takes a second for each answer.
type server struct {
	client.Reader
	pods, size int
	now, most  atomic.Int32
	mu         sync.Mutex
	asked      []int64
}

func (s *server) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	now := s.now.Add(1)
	defer s.now.Add(-1)
	s.most.Store(max(s.most.Load(), now))
	<-time.After(time.Second) // of the fake clock
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	s.mu.Lock()
	s.asked = append(s.asked, o.Limit)
	s.mu.Unlock()
	from, to := paging.Cut(list, o, s.pods)
	for i := from; i < to; i++ {
		p := corev1.Pod{}
		p.Name, p.Annotations = strconv.Itoa(i), map[string]string{"a": strings.Repeat("x", s.size)}
		list.(*corev1.PodList).Items = append(list.(*corev1.PodList).Items, p)
	}
	return nil
}

func TestEach(t *testing.T) {
	for reason, c := range map[string]struct {
		pods, size, most int
		asked            []int64
		seen             int
		all              bool
	}{
		"none":                               {pods: 0, most: 100, asked: []int64{5}, seen: 0, all: true},
		"one page":                           {pods: 5, size: 10, most: 100, asked: []int64{5}, seen: 5, all: true},
		"small ones come in larger pages":    {pods: 1000, size: 10, most: 2000, asked: []int64{5, 10, 20, 40, 80, 100, 100, 100, 100, 100, 100, 100, 100, 100}, seen: 1000, all: true},
		"large ones come in small pages":     {pods: 12, size: 1 << 20, most: 100, asked: []int64{5, 3, 3, 3}, seen: 12, all: true},
		"the largest ones come one by one":   {pods: 8, size: 3 << 20, most: 100, asked: []int64{5, 1, 1, 1}, seen: 8, all: true},
		"there are more than are looked at":  {pods: 30, size: 10, most: 20, asked: []int64{5, 10, 5}, seen: 20, all: false},
		"there are as many as are looked at": {pods: 5, size: 10, most: 5, asked: []int64{5}, seen: 5, all: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &server{pods: c.pods, size: c.size}
			var seen []string
			all, err := Each(t.Context(), s, "ns", &corev1.PodList{}, c.most, func(p *corev1.Pod) { seen = append(seen, p.Name) })
			if err != nil || all != c.all || len(seen) != c.seen {
				t.Errorf("%s: all %v, %d seen, %v", reason, all, len(seen), err)
			}
			if diff := cmp.Diff(c.asked, s.asked); diff != "" {
				t.Errorf("%s: -want +got:\n%s", reason, diff)
			}
			for i, name := range seen {
				if name != strconv.Itoa(i) {
					t.Fatalf("%s: %q", reason, seen)
				}
			}
		})
	}
}

// TestFewPagesAtOnce: however many read, two pages are in memory at most, one of a namespace, and who gives up takes no place.
func TestFewPagesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{pods: 1, size: 10}
		var all sync.WaitGroup
		read := func(namespace string) {
			if _, err := Each(t.Context(), s, namespace, &corev1.PodList{}, 10, func(*corev1.Pod) {}); err != nil {
				t.Error(err)
			}
		}
		for range 20 {
			all.Go(func() { read("ns") })
		}
		synctest.Wait()
		if n := s.now.Load(); n != 1 {
			t.Errorf("%d pages of one namespace at once", n)
		}
		began := time.Now()
		read("other")
		if took := time.Since(began); took != time.Second {
			t.Errorf("a page of another namespace takes %s", took)
		}
		for range 5 {
			all.Go(func() { read("other") })
		}
		for range 5 { // for one tenant, of whatever namespaces
			for _, namespace := range []string{"", "other", "third"} {
				all.Go(func() {
					if _, err := Each(fair.For(t.Context(), "ns"), s, namespace, &corev1.PodList{}, 10, func(*corev1.Pod) {}); err != nil {
						t.Error(err)
					}
				})
			}
		}
		synctest.Wait()
		began = time.Now()
		read("third")
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("a page of another namespace takes %s while one tenant reads everywhere", took)
		}
		late, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if _, err := Each(late, s, "ns", &corev1.PodList{}, 10, func(*corev1.Pod) {}); err == nil {
			t.Error("it did not wait")
		}
		all.Wait()
		if n := s.most.Load(); n != pagesAtOnce {
			t.Errorf("%d pages at once", n)
		}
	})
}

func TestTheSizeOfWhatIsReadIsKnown(t *testing.T) {
	named := metav1.ObjectMeta{Name: "a"}
	for _, o := range []runtime.Object{&corev1.Pod{ObjectMeta: named}, &metav1.PartialObjectMetadata{ObjectMeta: named}, &batchv1.Job{ObjectMeta: named}} {
		if sizeOf(o) == 0 {
			t.Errorf("%T", o)
		}
	}
}
