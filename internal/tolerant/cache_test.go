// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"errors"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestInformersAreMadeAsTheCallerSays(t *testing.T) {
	made := 0
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	var held *Cache
	newCache := NewCache(Options{
		Ours:     func(schema.GroupVersionKind) bool { return false },
		Expected: []client.Object{&corev1.ConfigMap{}, &corev1.Secret{}},
	}, func(c *Cache) { held = c })
	c, err := newCache(&rest.Config{Host: "http://127.0.0.1:1"}, cache.Options{
		HTTPClient: http.DefaultClient, Scheme: clientgoscheme.Scheme, Mapper: mapper,
		NewInformer: func(lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration, i toolscache.Indexers) toolscache.SharedIndexInformer {
			made++
			return toolscache.NewSharedIndexInformer(lw, o, resync, i)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(held.Unfilled())); !slices.Equal(got, []string{"ConfigMap", "Secret"}) {
		t.Errorf("before anybody asked, these are not filled: %v", got)
	}
	if _, err := c.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	if made != 1 {
		t.Errorf("%d informers are made so", made)
	}
}

// filling is an informer that is filled, or not.
type filling struct {
	toolscache.SharedIndexInformer
	filled bool
}

func (f filling) HasSynced() bool { return f.filled }

// TestEveryFormOfATypeCounts has a type of which one kind reads the objects and another their metadata.
func TestEveryFormOfATypeCounts(t *testing.T) {
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	for _, tc := range []struct {
		reason          string
		whole, metadata bool
		want            []string
	}{
		{"both are filled", true, true, nil},
		{"the objects are not", false, true, []string{"ConfigMap"}},
		{"the metadata are not", true, false, []string{"ConfigMap"}},
		{"neither is", false, false, []string{"ConfigMap"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			c := &Cache{
				scheme: clientgoscheme.Scheme, informers: map[held]*informer{}, expected: []string{"ConfigMap"},
				ours: func(schema.GroupVersionKind) bool { return false },
			}
			for _, form := range []struct {
				of     runtime.Object
				filled bool
			}{{&corev1.ConfigMap{}, tc.whole}, {metadata, tc.metadata}} {
				c.makeInformer = func(lw toolscache.ListerWatcher, o runtime.Object, resync time.Duration, i toolscache.Indexers) toolscache.SharedIndexInformer {
					return filling{toolscache.NewSharedIndexInformer(lw, o, resync, i), form.filled}
				}
				c.newInformer(&toolscache.ListWatch{}, form.of, 0, nil)
			}
			if got := slices.Sorted(maps.Keys(c.Unfilled())); !slices.Equal(got, tc.want) {
				t.Errorf("not filled: %v, want %v", got, tc.want)
			}
		})
	}
}

func TestTheErrorOfAnyFormIsReported(t *testing.T) {
	broken := errors.New("broken")
	i := func(last error) *informer { return &informer{SharedIndexInformer: filling{}, last: last} }
	for range 20 { // the order of a map is not that of its lines
		c := &Cache{informers: map[held]*informer{{"ConfigMap", nil}: i(nil), {"ConfigMap", reflect.TypeFor[int]()}: i(broken)}}
		if got := c.Unfilled()["ConfigMap"]; !errors.Is(got, broken) {
			t.Fatalf("got %v", got)
		}
	}
}
