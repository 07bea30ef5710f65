// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// A watch from a version of a replica that has read further waits for that, and misses nothing.
func TestAWatchWaitsForWhatAnotherReplicaHasRead(t *testing.T) {
	c, now, s := fixture()
	ahead, _, other := fixture()
	for _, r := range []*cluster{c, ahead} {
		r.set("1", "a", "x", "sam")
	}
	ahead.set("2", "b", "x", "sam")
	v := listVersion(t, other, "sam")
	type opened struct {
		watch.Interface
		error
	}
	done := make(chan opened, 1)
	go func() {
		w, err := s.Watch(as("sam"), &internalversion.ListOptions{ResourceVersion: v})
		done <- opened{w, err}
	}()
	until(t, now.HasWaiters)
	c.set("2", "b", "x", "sam")
	w := <-done
	if w.error != nil {
		t.Fatal(w.error)
	}
	t.Cleanup(func() {
		w.Stop()
		for range w.ResultChan() {
		}
	})
	c.set("1", "a", "y", "sam")
	(&events{t: t, Interface: w.Interface}).want("MODIFIED a")
}

// Nobody resumes from the answer to another user, or to the same user in other groups.
func TestAVersionIsOfAUserWithGroups(t *testing.T) {
	c, _, s := fixture()
	c.set("1", "a", "x", "sam")
	with := func(groups ...string) context.Context {
		return request.WithUser(context.Background(), &user.DefaultInfo{Name: "sam", Groups: groups})
	}
	l, err := s.List(with("team", "all"), &internalversion.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	v := l.(metav1.ListInterface).GetResourceVersion()
	c.set("1", "a", "y", "sam")
	for _, groups := range [][]string{nil, {"team"}, {"teamall"}} {
		if _, err := s.Watch(with(groups...), &internalversion.ListOptions{ResourceVersion: v}); !apierrors.IsResourceExpired(err) {
			t.Errorf("with the groups %v it resumes: %v", groups, err)
		}
	}
	w, err := s.Watch(with("all", "team"), &internalversion.ListOptions{ResourceVersion: v})
	if err != nil {
		t.Fatalf("in another order they are the same groups: %v", err)
	}
	w.Stop()
	for range w.ResultChan() {
	}
}

// Two watches resume from one version, and neither changes what the other knows.
func TestAVersionCanBeResumedFromAgain(t *testing.T) {
	c, _, s := fixture()
	c.set("1", "a", "x", "sam")
	v := listVersion(t, s, "sam")
	c.set("1", "a", "y", "sam")
	c.set("2", "b", "y", "sam")
	for range 2 {
		watchAs(t, s, "sam", internalversion.ListOptions{ResourceVersion: v, AllowWatchBookmarks: true}).want("MODIFIED a", "ADDED b", "BOOKMARK ")
	}
}

// A list at exactly a version has that version, although this replica has read further since.
func TestAnExactVersionIsThatOfTheList(t *testing.T) {
	c, _, s := fixture()
	c.set("1", "a", "x", "sam")
	v := listVersion(t, s, "sam")
	c.set("2", "b", "x", "kim")
	exact := internalversion.ListOptions{ResourceVersion: v, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
	l, err := s.List(as("sam"), &exact)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.(metav1.ListInterface).GetResourceVersion(); got != v || listVersion(t, s, "sam") == v {
		t.Errorf("the version is %s, not %s", got, v)
	}
	c.set("1", "a", "y", "sam")
	if _, err := s.List(as("sam"), &exact); !apierrors.IsResourceExpired(err) {
		t.Errorf("another content of that version: %v", err)
	}
}
