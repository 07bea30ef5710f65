// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
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
