/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package tolerant

import (
	"net/http"
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
)

func TestInformersAreMadeAsTheCallerSays(t *testing.T) {
	made := 0
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("ConfigMap"), meta.RESTScopeNamespace)
	newCache := NewCache(Options{Ours: func(schema.GroupVersionKind) bool { return false }}, func(*Cache) {})
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
	if _, err := c.GetInformer(t.Context(), &corev1.ConfigMap{}, cache.BlockUntilSynced(false)); err != nil {
		t.Fatal(err)
	}
	if made != 1 {
		t.Errorf("%d informers are made so", made)
	}
}
