// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// api is an API server with lists that a test sets. Its watches send nothing.
type api struct {
	*httptest.Server

	mu    sync.Mutex
	lists map[string]string        // the items of a resource, as JSON; a resource without an entry is missing
	held  map[string]chan struct{} // lists of a resource are answered once its channel is closed
}

// serve starts an API server without objects and without the CustomResourceDefinition of AcmeNamespaces.
func serve(t *testing.T) *api {
	t.Helper()
	a := &api{lists: map[string]string{}, held: map[string]chan struct{}{}}
	for _, resource := range []string{"namespaces", "resourcequotas", "roles", "rolebindings", "clusterroles", "clusterrolebindings"} {
		a.lists[resource] = "[]"
	}
	a.Server = httptest.NewServer(a)
	t.Cleanup(a.Close)
	return a
}

func (a *api) set(resource, items string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lists[resource] = items
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	resource := path.Base(r.URL.Path)
	a.mu.Lock()
	items, exists := a.lists[resource]
	held := a.held[resource]
	a.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	query := r.URL.Query()
	switch {
	case !exists:
		refuse(w, http.StatusNotFound, "NotFound")
	case query.Has("sendInitialEvents"): // clients list instead
		refuse(w, http.StatusBadRequest, "BadRequest")
	case query.Has("watch"):
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	default:
		if held != nil {
			select {
			case <-held:
			case <-r.Context().Done():
				return
			}
		}
		fmt.Fprintf(w, `{"kind":"%s","apiVersion":"%s","metadata":{"resourceVersion":"1000"},"items":%s}`, kinds[resource], versionOf(r.URL.Path), items)
	}
}

var kinds = map[string]string{
	"namespaces": "NamespaceList", "resourcequotas": "ResourceQuotaList", "roles": "RoleList", "rolebindings": "RoleBindingList",
	"clusterroles": "ClusterRoleList", "clusterrolebindings": "ClusterRoleBindingList", "acmenamespaces": "AcmeNamespaceList",
}

// versionOf is the apiVersion in a path: /api/v1/… or /apis/GROUP/VERSION/….
func versionOf(url string) string {
	_, version := path.Split(path.Dir(url))
	if group := path.Base(path.Dir(path.Dir(url))); group != "api" {
		return group + "/" + version
	}
	return version
}

func refuse(w http.ResponseWriter, code int, reason string) {
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(map[string]any{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code})
}

// run reads from an API server until the end of the test.
func run(t *testing.T, a *api) *Source {
	t.Helper()
	s, err := New(&rest.Config{Host: a.URL}, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { s.Run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	return s
}

// hanging ends a test that waits for what does not come.
const hanging = 2 * time.Minute

// until waits for a condition.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	if err := wait.PollUntilContextTimeout(t.Context(), time.Millisecond, hanging, true, func(context.Context) (bool, error) {
		return condition(), nil
	}); err != nil {
		t.Fatal(err)
	}
}

// hold has lists of a resource wait until release.
func (a *api) hold(resource string) (release func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	held := make(chan struct{})
	a.held[resource] = held
	return func() { close(held) }
}
