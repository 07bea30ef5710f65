// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
)

var (
	getAndList = access.Rights{Get: true, List: true}
	listOnly   = access.Rights{List: true}
)

// use publishes a namespace of the tenant red, with a label and a quota, in which sam has some rights.
func (c *cluster) use(name string, rights access.Rights) { c.useOf("red", name, rights) }

func (c *cluster) useOf(tenant, name string, rights access.Rights) {
	c.version++
	c.publish(map[string]*rows.Namespace{name: rows.NewNamespace(rows.Facts{
		Name: name, UID: types.UID("uid-" + name), Labels: map[string]string{"team": "x"}, Version: 7, Phase: corev1.NamespaceActive,
		Owner: &rows.Owner{Name: "acme-" + name, Tenant: tenant, Tier: "dev", Version: 8},
		Quotas: []rows.Quota{{
			Name: "q", Version: 9, Hard: corev1.ResourceList{"pods": resource.MustParse("4")}, Used: corev1.ResourceList{"pods": resource.MustParse("1")},
		}},
		Grants: access.GrantsOf(name, []access.Binding{{
			Role: "Role/r", Verdict: access.Verdict{Rights: rights}, Subjects: []access.Subject{access.UserSubject("sam")}, Version: c.version,
		}}),
	})})
}

// watchUsage watches one of the views of usage as sam, and waits for the first row.
func watchUsage(t *testing.T, c *cluster, view int, o internalversion.ListOptions) (w *events, first rows.Object) {
	t.Helper()
	_, now, _ := fixture()
	s := New(NewShared(c, now, nil), Views()[view])
	w = watchAs(t, s, "sam", o)
	e := w.next()
	if e.Type != watch.Added {
		t.Fatalf("the first event is %s", e.Type)
	}
	return w, e.Object.(rows.Object)
}

// next is the next event.
func (e *events) next() watch.Event {
	e.t.Helper()
	select {
	case got := <-e.ResultChan():
		return got
	case <-time.After(hanging):
		e.t.Fatal("there is no event")
		return watch.Event{}
	}
}

// wantDeleted compares the next event: it has no more than the name, the UID and the version of a row that was sent.
func (e *events) wantDeleted(sent, empty rows.Object) {
	e.t.Helper()
	got := e.next()
	if got.Type != watch.Deleted {
		e.t.Fatalf("the event is %s %+v", got.Type, got.Object)
	}
	empty.SetName(sent.GetName())
	empty.SetUID(sent.GetUID())
	empty.SetResourceVersion(got.Object.(rows.Object).GetResourceVersion())
	if diff := cmp.Diff(empty, got.Object); diff != "" || empty.GetUID() == "" || empty.GetResourceVersion() == "" {
		e.t.Error(diff)
	}
}

// Users who may no longer get a Namespace, but still list its ResourceQuotas, see the usage without what the Namespace has.
func TestAWatchOfUsageLosesWhatTheNamespaceHas(t *testing.T) {
	c, _, _ := fixture()
	c.use("a", getAndList)
	w, first := watchUsage(t, c, 1, internalversion.ListOptions{})
	if n := first.(*v1alpha1.NamespaceUsage); n.Tenant != "red" || n.Tier != "dev" || n.Labels["team"] != "x" {
		t.Fatalf("the row is %+v", n)
	}
	c.use("a", listOnly)
	e := w.next()
	n := e.Object.(*v1alpha1.NamespaceUsage)
	want := &v1alpha1.NamespaceUsage{
		ObjectMeta: metav1.ObjectMeta{Name: "a", UID: first.GetUID(), ResourceVersion: n.ResourceVersion}, Resources: n.Resources,
	}
	if diff := cmp.Diff(want, n); e.Type != watch.Modified || diff != "" || n.Resources["pods"].Used == nil {
		t.Errorf("the event is %s: %s", e.Type, diff)
	}
	c.use("a", access.Rights{})
	w.wantDeleted(first, &v1alpha1.NamespaceUsage{})
}

// With a selector of a label that the user may no longer see, the row is gone.
func TestAWatchOfUsageWithASelectorLosesTheRow(t *testing.T) {
	selector, err := labels.Parse("team=x")
	if err != nil {
		t.Fatal(err)
	}
	c, _, _ := fixture()
	c.use("a", getAndList)
	w, first := watchUsage(t, c, 1, internalversion.ListOptions{LabelSelector: selector})
	c.use("a", listOnly)
	w.wantDeleted(first, &v1alpha1.NamespaceUsage{})
}

// A sum is shown to those who may see each summand.
func TestAWatchOfATenantLosesTheSum(t *testing.T) {
	for reason, rights := range map[string]access.Rights{"list": {Get: true}, "get": listOnly, "both": {}} {
		c, _, _ := fixture()
		c.use("a", getAndList)
		c.use("b", getAndList)
		w, first := watchUsage(t, c, 2, internalversion.ListOptions{})
		if n := first.(*v1alpha1.TenantUsage); n.Tenant != "red" || len(n.Namespaces) != 2 {
			t.Fatalf("the row is %+v", n)
		}
		t.Log("without the right to", reason)
		c.use("b", rights)
		c.useOf("white", "c", getAndList) // the event after the one that is due
		w.wantDeleted(first, &v1alpha1.TenantUsage{})
	}
}
