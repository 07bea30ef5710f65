// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	authuser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
)

// reviewer is an API server that reviews rights.
type reviewer struct {
	*testing.T
	allows, fails atomic.Bool
	reviews       atomic.Int64
	largest       atomic.Int64 // in bytes
	only          atomic.Value // a name that is allowed
	hold          atomic.Pointer[chan struct{}]
	clock         *clocktesting.FakeClock
	authorizer    authorizer.Authorizer
}

func newReviewer(t *testing.T) *reviewer {
	r := &reviewer{T: t, clock: clocktesting.NewFakeClock(time.Unix(1e9, 0))}
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.reviews.Add(1)
		if hold := r.hold.Load(); hold != nil {
			<-*hold
		}
		if r.fails.Load() {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		r.largest.Store(max(r.largest.Load(), request.ContentLength))
		review := &authorizationv1.SubjectAccessReview{}
		if err := json.NewDecoder(request.Body).Decode(review); err != nil {
			t.Error(err)
		}
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SubjectAccessReview"
		named := review.Spec.ResourceAttributes != nil && review.Spec.ResourceAttributes.Name != ""
		review.Status.Allowed = r.allows.Load() || named && review.Spec.ResourceAttributes.Name == r.only.Load()
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(api.Close)
	client, err := kubernetes.NewForConfig(&rest.Config{Host: api.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	c := &genericapiserver.Config{}
	if err := authorize(c, client, r.clock); err != nil {
		t.Fatal(err)
	}
	r.authorizer = c.Authorization.Authorizer
	return r
}

// want asks for a path, and compares the answer and how many reviews it took.
func (r *reviewer) want(who, path string, allowed bool, reviews int64) {
	r.Helper()
	before := r.reviews.Load()
	decision, reason, _ := r.authorizer.Authorize(r.Context(), authorizer.AttributesRecord{
		User: &authuser.DefaultInfo{Name: who, Groups: []string{"system:authenticated"}}, Verb: "get", Path: path,
	})
	if got := decision == authorizer.DecisionAllow; got != allowed {
		r.Errorf("%s: allowed is %t (%s)", path, got, reason)
	}
	if got := r.reviews.Load() - before; got != reviews {
		r.Errorf("%s: %d reviews, not %d", path, got, reviews)
	}
}

// An API server that starts denies what it allows a moment later. Our answer follows within a second, whatever else was denied.
func TestADenialIsSoonReviewedAgain(t *testing.T) {
	r := newReviewer(t)
	r.want("sam", "/a", false, 1)
	r.want("sam", "/a", false, 0)
	r.allows.Store(true)
	r.want("sam", "/a", false, 0)
	r.want("sam", "/b", true, 1)
	r.want("kim", "/a", true, 1)
	r.clock.Step(denialCache + time.Nanosecond)
	r.want("sam", "/a", true, 1)
	r.allows.Store(false)
	r.want("sam", "/a", true, 0)
}

// A review that fails says nothing of the user.
func TestAReviewThatFailsIsNoDenial(t *testing.T) {
	r := newReviewer(t)
	r.fails.Store(true)
	r.want("sam", "/a", false, 1)
	r.fails.Store(false)
	r.allows.Store(true)
	r.want("sam", "/a", true, 1)
}

// One who may do nothing cannot have paths without end reviewed, and keeps out nobody else.
func TestWhoIsDeniedCausesFewReviews(t *testing.T) {
	r := newReviewer(t)
	for range 3 {
		before := r.reviews.Load()
		for i := range 10 * deniedOfOne {
			r.want("eve", fmt.Sprint("/", i), false, int64(min(1, max(0, deniedOfOne-i))))
		}
		if got := r.reviews.Load() - before; got != deniedOfOne {
			t.Errorf("%d reviews within a second", got)
		}
		_, reason, _ := r.authorizer.Authorize(r.Context(), authorizer.AttributesRecord{User: &authuser.DefaultInfo{Name: "eve"}, Path: "/new"})
		if reason != "reviews: "+tooMany {
			t.Errorf("the reason is %q", reason)
		}
		r.want("sam", "/a", false, 1)
		r.clock.Step(denialCache + time.Nanosecond)
	}
	r.allows.Store(true)
	r.want("eve", "/1", true, 1)
}

// Requests that differ in who asks, or in what for, are reviewed each.
func TestRequestsAreDistinguished(t *testing.T) {
	request := func(change func(u *authuser.DefaultInfo, a *authorizer.AttributesRecord)) [32]byte {
		u := &authuser.DefaultInfo{Name: "sam", UID: "1", Groups: []string{"a", "b"}, Extra: map[string][]string{"k": {"v"}}}
		a := authorizer.AttributesRecord{Verb: "get", APIGroup: "g", APIVersion: "v1", Resource: "r", Subresource: "s", Namespace: "n", Name: "o", Path: "/p"}
		change(u, &a)
		a.User = u
		return requestOf(a)
	}
	seen := map[[32]byte]int{}
	changes := []func(u *authuser.DefaultInfo, a *authorizer.AttributesRecord){
		func(*authuser.DefaultInfo, *authorizer.AttributesRecord) {},
		func(u *authuser.DefaultInfo, _ *authorizer.AttributesRecord) { u.Name = "kim" },
		func(u *authuser.DefaultInfo, _ *authorizer.AttributesRecord) { u.UID = "2" },
		func(u *authuser.DefaultInfo, _ *authorizer.AttributesRecord) { u.Groups = []string{"a b"} },
		func(u *authuser.DefaultInfo, _ *authorizer.AttributesRecord) { u.Extra = nil },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.Verb = "list" },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.APIGroup = "h" },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.APIVersion = "v2" },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.Resource = "q" },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.Subresource = "" },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.Namespace = "m" },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.Name = "x" },
		func(_ *authuser.DefaultInfo, a *authorizer.AttributesRecord) { a.Path = "/" },
	}
	for i, change := range changes {
		key := request(change)
		if before, found := seen[key]; found {
			t.Errorf("change %d is taken for change %d", i, before)
		}
		seen[key] = i
	}
}

// A replica whose reviews fail is still discovered: namespaces cannot be deleted as long as a registered API is not.
func TestMastersNeedNoReview(t *testing.T) {
	r := newReviewer(t)
	r.fails.Store(true)
	decision, reason, err := r.authorizer.Authorize(t.Context(), authorizer.AttributesRecord{
		User: &authuser.DefaultInfo{Name: "system:kube-aggregator", Groups: []string{"system:masters"}}, Verb: "get", Path: base,
	})
	if decision != authorizer.DecisionAllow || err != nil {
		t.Errorf("%d (%s), %v", decision, reason, err)
	}
	if got := r.reviews.Load(); got != 0 {
		t.Errorf("%d reviews", got)
	}
}
