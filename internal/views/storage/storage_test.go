// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
	"github.com/acme/platform-operator/internal/views/source"
)

// cluster is a source that a test writes.
type cluster struct {
	current atomic.Pointer[source.Snapshot]
	stale   atomic.Bool
	version uint64
}

func (c *cluster) Now() *source.Snapshot { return c.current.Load() }

func (c *cluster) Check() error {
	if c.Now() == nil || c.stale.Load() {
		return errors.New("nothing was read")
	}
	return nil
}

// set publishes namespaces: their names, with the team that their label has and the users who may get them.
func (c *cluster) set(uid, name, team string, users ...string) {
	c.version++
	bindings := []access.Binding{}
	for _, u := range users {
		bindings = append(bindings, access.Binding{
			Role: "ClusterRole/view", Verdict: access.Verdict{Rights: access.Rights{Get: true}}, Subjects: []access.Subject{access.UserSubject(u)},
		})
	}
	c.publish(map[string]*rows.Namespace{name: rows.NewNamespace(rows.Facts{
		Name: name, UID: types.UID(uid), Labels: map[string]string{"team": team}, Version: c.version, Grants: access.GrantsOf(name, bindings),
	})})
}

func (c *cluster) remove(name string) { c.publish(map[string]*rows.Namespace{name: nil}) }

func (c *cluster) publish(now map[string]*rows.Namespace) {
	before := c.Now()
	next := before.Next(c.version, now, access.Cluster{})
	if next != before {
		c.current.Store(next)
		before.Supersede()
	}
}

func as(name string) context.Context {
	return request.WithUser(context.Background(), &user.DefaultInfo{Name: name})
}

func fixture() (*cluster, *clocktesting.FakeClock, *Storage) {
	c := &cluster{version: 100}
	c.current.Store(source.NewSnapshot())
	now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	return c, now, New(NewShared(c, now, nil), Views()[0])
}

func watchAs(t *testing.T, s *Storage, name string, o internalversion.ListOptions) *events {
	t.Helper()
	w, err := s.Watch(as(name), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.Stop()
		for range w.ResultChan() {
		}
	})
	return &events{t: t, Interface: w}
}

type events struct {
	watch.Interface
	t *testing.T
}

// want compares the next events, as TYPE name.
func (e *events) want(all ...string) {
	e.t.Helper()
	for _, want := range all {
		select {
		case got := <-e.ResultChan():
			n, _ := got.Object.(*v1alpha1.MyNamespace)
			if text := fmt.Sprintf("%s %s", got.Type, n.GetName()); text != want {
				e.t.Fatalf("the event is %s, not %s", text, want)
			}
			if got.Type == watch.Deleted && len(n.Labels)+len(n.Roles)+len(n.Phase) > 0 {
				e.t.Errorf("the event contains more than that it is gone: %+v", n)
			}
		case <-time.After(hanging):
			e.t.Fatalf("there is no event, and not %s", want)
		}
	}
}

// hanging ends a test that waits for an event that does not come.
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

func listVersion(t *testing.T, s *Storage, name string) string {
	t.Helper()
	l, err := s.List(as(name), &internalversion.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return l.(metav1.ListInterface).GetResourceVersion()
}

func TestNobodyIsAnsweredTooEarly(t *testing.T) {
	s := New(NewShared(&cluster{}, clocktesting.NewFakeClock(time.Now()), nil), Views()[0])
	_, listed := s.List(as("sam"), &internalversion.ListOptions{})
	_, got := s.Get(as("sam"), "a", &metav1.GetOptions{})
	_, watched := s.Watch(as("sam"), &internalversion.ListOptions{})
	for _, err := range []error{listed, got, watched} {
		if !apierrors.IsServiceUnavailable(err) {
			t.Error(err)
		}
	}
	if _, err := s.List(context.Background(), &internalversion.ListOptions{}); !apierrors.IsUnauthorized(err) {
		t.Error(err)
	}
}

func TestASlowClientGetsTheNewestState(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c, _, s := fixture()
	c.set("1", "a", "x", "sam")
	w := watchAs(t, s, "sam", internalversion.ListOptions{ResourceVersion: listVersion(t, s, "sam"), AllowWatchBookmarks: true})
	c.set("1", "a", "y", "sam")
	for i := range 3 * 64 { // more than is remembered of changes
		c.set("1", "a", fmt.Sprint(i), "sam")
	}
	c.set("2", "b", "x", "sam", "kim")
	c.set("1", "a", "z") // it may not see it any more, and must not learn the label
	var got []string
	for len(got) == 0 || got[len(got)-1] != "BOOKMARK " {
		select {
		case e := <-w.ResultChan():
			n := e.Object.(*v1alpha1.MyNamespace)
			got = append(got, fmt.Sprintf("%s %s%s", e.Type, n.Name, n.Labels["team"]))
		case <-time.After(hanging):
			t.Fatalf("the events are %v", got)
		}
	}
	if strings.HasPrefix(got[0], "MODIFIED a") { // it was on its way before all others were made
		got = got[1:]
	}
	if diff := cmp.Diff([]string{"DELETED a", "ADDED bx", "BOOKMARK "}, got); diff != "" {
		t.Error(diff)
	}
	w.Stop()
	for range w.ResultChan() {
	}
}

func TestANamespaceThatIsMadeAgainIsAnother(t *testing.T) {
	c, _, s := fixture()
	c.set("1", "a", "x", "sam")
	w := watchAs(t, s, "sam", internalversion.ListOptions{ResourceVersion: listVersion(t, s, "sam")})
	c.set("2", "a", "x", "sam")
	w.want("DELETED a", "ADDED a")
	c.remove("a")
	w.want("DELETED a")
}

func TestSelectorsOfAClientThatGoesOn(t *testing.T) {
	c, _, s := fixture()
	c.set("1", "a", "x", "sam")
	c.set("2", "b", "y", "sam")
	c.set("3", "c", "x", "sam")
	v := listVersion(t, s, "sam")
	c.set("1", "a", "y", "sam")
	c.set("2", "b", "x", "sam")
	c.set("3", "c", "x")
	selector, err := labels.Parse("team=x")
	if err != nil {
		t.Fatal(err)
	}
	w := watchAs(t, s, "sam", internalversion.ListOptions{ResourceVersion: v, LabelSelector: selector, AllowWatchBookmarks: true})
	w.want("DELETED a", "ADDED b", "DELETED c", "BOOKMARK ")
	c.set("1", "a", "y") // it did not match: the client does not know it
	w.want("BOOKMARK ")
	if _, err := s.Watch(as("kim"), &internalversion.ListOptions{ResourceVersion: v}); !apierrors.IsResourceExpired(err) {
		t.Errorf("another user resumes from there: %v", err)
	}
}

func TestWatchesGoOnFromTheirLastBookmark(t *testing.T) {
	c, _, s := fixture()
	w := watchAs(t, s, "sam", internalversion.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: ptr.To(true)})
	w.want("BOOKMARK ")
	c.set("1", "a", "x", "sam")
	w.want("ADDED a")
	e := <-w.ResultChan()
	v := e.Object.(*v1alpha1.MyNamespace).ResourceVersion
	w.Stop()
	for range w.ResultChan() {
	}
	c.set("1", "a", "y", "sam")
	watchAs(t, s, "sam", internalversion.ListOptions{ResourceVersion: v}).want("MODIFIED a")
}

func TestWatchesEnd(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	_, now, s := fixture()
	w := watchAs(t, s, "sam", internalversion.ListOptions{ResourceVersion: "0", AllowWatchBookmarks: true})
	for range 7 {
		until(t, now.HasWaiters)
		now.Step(time.Minute)
		w.want("BOOKMARK ")
	}
	now.Step(5 * time.Minute)
	for deadline := time.After(hanging); ; {
		select {
		case _, open := <-w.ResultChan():
			if !open {
				return
			}
		case <-deadline:
			t.Fatal("it lasts longer than twelve minutes")
		}
	}
}

func TestWhatIsOutOfDateIsNotShown(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c, now, s := fixture()
	c.set("1", "a", "x", "sam")
	w := watchAs(t, s, "sam", internalversion.ListOptions{})
	w.want("ADDED a")
	c.stale.Store(true)
	_, listed := s.List(as("sam"), &internalversion.ListOptions{})
	_, got := s.Get(as("sam"), "a", &metav1.GetOptions{})
	_, watched := s.Watch(as("sam"), &internalversion.ListOptions{})
	for _, err := range []error{listed, got, watched} {
		if !apierrors.IsServiceUnavailable(err) {
			t.Error(err)
		}
	}
	now.Step(10 * time.Second) // the watch ends as soon after requests are rejected
	if e, open := <-w.ResultChan(); open {
		t.Errorf("the watch continues with %v", e)
	}
}

func TestWatchesAreLimited(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c, _, s := fixture()
	var all []watch.Interface
	open := func(user string) error {
		w, err := s.Watch(as(user), &internalversion.ListOptions{ResourceVersion: "0"})
		if err == nil {
			all = append(all, w)
		}
		return err
	}
	for i := range MaxWatches {
		if i == maxWatchesOfOne {
			wantTooMany(t, open("user-0"), "you have 100 watches")
		}
		if err := open(fmt.Sprintf("user-%d", i/maxWatchesOfOne)); err != nil {
			t.Fatal(err)
		}
	}
	wantTooMany(t, open("sam"), "this server has 1000 watches")
	c.set("1", "a", "x", "sam", "user-0") // nobody reads
	listVersion(t, s, "sam")              // and yet others are answered
	for _, w := range all {
		w.Stop()
		for range w.ResultChan() {
		}
	}
	if left, _ := s.watches.Taken(""); left != 0 {
		t.Errorf("%d watches are counted", left)
	}
	_, err := s.Watch(as("sam"), &internalversion.ListOptions{ResourceVersion: "x"})
	if left, _ := s.watches.Taken(""); err == nil || left != 0 {
		t.Errorf("a watch that fails is counted: %v", err)
	}
	watchAs(t, s, "sam", internalversion.ListOptions{ResourceVersion: "0"}).want("ADDED a")
}

func TestWaitsAreLimited(t *testing.T) {
	_, now, s := fixture()
	v := rows.Version{Horizon: 1e9}.String()
	done := make(chan error, maxWaitsOfOne)
	for range maxWaitsOfOne {
		go func() {
			_, err := s.Get(as("sam"), "a", &metav1.GetOptions{ResourceVersion: v})
			done <- err
		}()
	}
	until(t, func() bool { return now.Waiters() >= maxWaitsOfOne })
	_, err := s.List(as("sam"), &internalversion.ListOptions{ResourceVersion: v}) // at once, for the clock stands still
	if !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Error(err)
	}
	now.Step(patience)
	for range maxWaitsOfOne {
		if err := <-done; !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
			t.Error(err)
		}
	}
	if left, _ := s.waits.Taken(""); left != 0 {
		t.Errorf("%d waits are counted", left)
	}
}

func TestVersionsOfOthersAreWaitedFor(t *testing.T) {
	c, now, s := fixture()
	c.set("1", "a", "x", "sam")
	v, err := rows.ParseVersion(listVersion(t, s, "sam"))
	if err != nil {
		t.Fatal(err)
	}
	v.Horizon += 10
	done := make(chan error, 1)
	ask := func() {
		_, err := s.List(as("sam"), &internalversion.ListOptions{ResourceVersion: v.String()})
		done <- err
	}
	go ask()
	until(t, now.HasWaiters)
	c.version += 10
	c.publish(nil)
	if err := <-done; err != nil {
		t.Error(err)
	}
	v.Horizon += 10
	go ask()
	until(t, now.HasWaiters)
	now.Step(patience)
	if err := <-done; !apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge) {
		t.Error(err)
	}
}
