// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	authuser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// asks is a request of a user for mynamespaces.
func asks(who, verb, name string) authorizer.AttributesRecord {
	return authorizer.AttributesRecord{
		User: &authuser.DefaultInfo{Name: who, Groups: []string{"system:authenticated"}}, Verb: verb, APIGroup: "views.acme.com",
		APIVersion: "v1alpha1", Resource: "mynamespaces", Name: name, ResourceRequest: true, Path: base + "/mynamespaces/" + name,
	}
}

// decides compares the answer to a request, and how many reviews it took.
func (r *reviewer) decides(a authorizer.Attributes, allowed bool, reviews int64) {
	r.Helper()
	before := r.reviews.Load()
	decision, reason, err := r.authorizer.Authorize(r.Context(), a)
	if got := decision == authorizer.DecisionAllow; got != allowed || err != nil {
		r.Errorf("%s: allowed is %t (%s, %v)", a.GetPath(), got, reason, err)
	}
	if got := r.reviews.Load() - before; got != reviews {
		r.Errorf("%s: %d reviews, not %d", a.GetPath(), got, reviews)
	}
}

// A user who may read a view may choose selectors and names at will. None of them takes room in what is remembered, or a review.
func TestReviewsAreBare(t *testing.T) {
	r := newReviewer(t)
	r.allows.Store(true)
	reviews := int64(1)
	for _, requirements := range []int{4000, 100, 0} {
		list := asks("sam", "list", "")
		for i := range requirements {
			one, err := labels.NewRequirement(fmt.Sprint("a", i%2), selection.Exists, nil)
			if err != nil {
				t.Fatal(err)
			}
			list.LabelSelectorRequirements = append(list.LabelSelectorRequirements, *one)
			list.FieldSelectorRequirements = append(list.FieldSelectorRequirements, fields.Requirement{Field: "metadata.name", Value: fmt.Sprint(requirements, i)})
		}
		r.decides(list, true, reviews)
		reviews = 0
	}
	reviews = 1
	for i := range 100 {
		r.decides(asks("sam", "get", fmt.Sprint("row-", i)), true, reviews)
		reviews = 0
	}
	if got := r.largest.Load(); got > 2<<10 {
		t.Errorf("a review has %d bytes", got)
	}
}

// A right may name its rows. It is reviewed by name only if there is none to all rows, and only for a name that a row can have.
func TestARightToOneRowIsReviewedByItsName(t *testing.T) {
	r := newReviewer(t)
	r.decides(asks("sam", "get", "mine"), false, 2)
	r.decides(asks("sam", "get", "other"), false, 1)
	r.decides(asks("sam", "get", strings.Repeat("x", maxName+1)), false, 0)
	r.only.Store("mine")
	r.decides(asks("kim", "get", "mine"), true, 2)
	r.decides(asks("kim", "get", "other"), false, 1)
	r.clock.Step(denialCache + 1)
	r.decides(asks("kim", "get", "mine"), true, 1)
}

// kube-aggregator and administrators are members of system:masters. While reviews fail, they find the API available.
func TestMastersAreNotReviewed(t *testing.T) {
	r := newReviewer(t)
	list := asks("admin", "list", "")
	list.User.(*authuser.DefaultInfo).Groups = []string{"system:masters"}
	r.decides(list, true, 0)
	list.User.(*authuser.DefaultInfo).Groups = []string{"masters"}
	r.decides(list, false, 1)
}

// While the API server does not answer, one user who asks for much has few reviews under way, and the others wait for nothing.
func TestOneUserHasFewReviewsAtOnce(t *testing.T) {
	r := newReviewer(t)
	hold := make(chan struct{})
	r.hold.Store(&hold)
	answer := sync.OnceFunc(func() { close(hold) })
	t.Cleanup(answer)
	const requests = 100
	done := make(chan bool, 2*requests)
	ask := func(who string, i int) {
		a := authorizer.AttributesRecord{User: &authuser.DefaultInfo{Name: who}, Verb: "get", Path: fmt.Sprint("/", i)}
		go func() {
			decision, _, err := r.authorizer.Authorize(t.Context(), a)
			if err != nil {
				t.Error(err)
			}
			done <- decision == authorizer.DecisionAllow
		}()
	}
	for i := range requests {
		ask("eve", i)
	}
	for range requests - deniedOfOne {
		for len(done) == 0 {
			if got := r.reviews.Load(); got > deniedOfOne {
				t.Fatalf("%d reviews arrive", got)
			}
			runtime.Gosched()
		}
		if <-done {
			t.Error("it is allowed without a review")
		}
	}
	ask("sam", 0)
	r.arrived(deniedOfOne + 1)
	r.allows.Store(true)
	answer()
	for range deniedOfOne + 1 {
		if !<-done {
			t.Error("what is asked for at once is denied, although it is allowed")
		}
	}
	r.arrived(deniedOfOne + 1)
	r.want("eve", "/new", true, 1)
}

// A client that starts asks for the same many times at once. That takes one review, and none is denied for being one of many.
func TestRequestsForTheSameShareAReview(t *testing.T) {
	r := newReviewer(t)
	r.allows.Store(true)
	hold := make(chan struct{})
	r.hold.Store(&hold)
	done := make(chan authorizer.Decision, maxWaitingOfOne)
	for range maxWaitingOfOne {
		go func() {
			decision, _, _ := r.authorizer.Authorize(t.Context(), asks("sam", "watch", ""))
			done <- decision
		}()
	}
	r.arrived(1)
	close(hold)
	for range maxWaitingOfOne {
		if got := <-done; got != authorizer.DecisionAllow {
			t.Error("it is denied")
		}
	}
	r.arrived(1)
}

// arrived waits for a number of reviews, and finds no more.
func (r *reviewer) arrived(n int64) {
	r.Helper()
	for r.reviews.Load() < n && r.Context().Err() == nil {
		runtime.Gosched()
	}
	if got := r.reviews.Load(); got != n {
		r.Errorf("%d reviews arrive, not %d", got, n)
	}
}
