// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
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
	opened := watchLater(s, v)
	until(t, now.HasWaiters)
	c.set("2", "b", "x", "sam")
	w := opened(t)
	c.set("1", "a", "y", "sam")
	w.want("MODIFIED a")
}

// watchLater begins a watch of sam's from a version, which may have to wait. The function that it returns waits for it.
func watchLater(s *Storage, version string) func(t *testing.T) *events {
	type opened struct {
		watch.Interface
		error
	}
	done := make(chan opened, 1)
	go func() {
		w, err := s.Watch(as("sam"), &internalversion.ListOptions{ResourceVersion: version})
		done <- opened{w, err}
	}()
	return func(t *testing.T) *events {
		t.Helper()
		w := <-done
		if w.error != nil {
			t.Fatal(w.error)
		}
		t.Cleanup(func() {
			w.Stop()
			for range w.ResultChan() {
			}
		})
		return &events{t: t, Interface: w.Interface}
	}
}

// timers is a clock that reports the timers that are set.
type timers struct {
	*clocktesting.FakeClock
	c chan time.Duration
}

func (t timers) NewTimer(d time.Duration) clock.Timer {
	t.c <- d
	return t.FakeClock.NewTimer(d)
}

// A replica that lags begins no watch from what it has seen before the end of a right, although the rows are the same then.
func TestAWatchShowsNoRightThatHasEnded(t *testing.T) {
	for name, seen := range map[string]func(c *cluster, s *Storage){
		"the right has not begun there": func(*cluster, *Storage) {},
		"the right has begun there": func(c *cluster, s *Storage) {
			listVersion(t, s, "sam")
			c.set("2", "b", "x", "sam")
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, now, _ := fixture()
			asked := timers{now, make(chan time.Duration, 10)}
			s := New(NewShared(c, asked, nil), Views()[0])
			ahead, _, other := fixture()
			for _, r := range []*cluster{c, ahead} {
				r.set("1", "a", "x", "sam")
				r.set("2", "b", "x")
			}
			ahead.set("2", "b", "x", "sam")
			ahead.set("2", "b", "x")
			v := listVersion(t, other, "sam")
			seen(c, s)
			opened := watchLater(s, v)
			if d := <-asked.c; d != patience {
				t.Fatalf("it sets a timer of %s, and does not wait for what the other replica has read", d)
			}
			for c.version < ahead.version {
				c.set("2", "b", "x", []string{"sam"}[:(ahead.version-c.version)/2]...)
			}
			w := opened(t)
			c.set("1", "a", "y", "sam")
			w.want("MODIFIED a")
		})
	}
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

// A selector with many short requirements takes many times its text, for as long as its watch lives.
func TestALongSelectorIsRejected(t *testing.T) {
	_, _, s := fixture()
	var values []string
	for i := range maxTerms {
		values = append(values, strconv.Itoa(i))
	}
	for text, rejected := range map[string]bool{
		strings.Repeat("a,", maxTerms-1) + "a":                   false,
		strings.Repeat("a,", maxTerms) + "a":                     true,
		"a in (" + strings.Join(values[1:], ",") + ")":           false,
		"a in (" + strings.Join(values, ",") + ")":               true,
		"a notin (" + strings.Join(values[2:], ",") + "),b,c":    true,
		"a!=1,b!=" + strings.Repeat("2", 60) + ",c in (3),d=4,e": false,
	} {
		selector, err := labels.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		o := internalversion.ListOptions{LabelSelector: selector}
		_, listed := s.List(as("sam"), &o)
		w, watched := s.Watch(as("sam"), &o)
		if apierrors.IsBadRequest(listed) != rejected || apierrors.IsBadRequest(watched) != rejected {
			t.Errorf("%s: list %v, watch %v", text, listed, watched)
		}
		if w != nil {
			w.Stop()
			for range w.ResultChan() {
			}
		}
	}
	if left, _ := s.watches.Taken("sam"); left != 0 {
		t.Errorf("%d watches are counted", left)
	}
}
