// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// deletions records how objects are deleted.
type deletions struct {
	client.Client
	last client.DeleteOptions
}

func (d *deletions) Scheme() *runtime.Scheme { return clientgoscheme.Scheme }

func (d *deletions) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	d.last.ApplyOptions(options)
	return nil
}

// TestDeletionsHavePreconditions: what is deleted is the very object that was judged, as it was judged. A resourceVersion
// alone says that today; the UID says it whatever becomes of versions, for instance after a restore of etcd.
func TestDeletionsHavePreconditions(t *testing.T) {
	for _, live := range []client.Object{&batchv1.Job{}, &corev1.ResourceQuota{}} {
		live.SetNamespace("ns")
		live.SetName("child")
		live.SetUID("uid-1")
		live.SetResourceVersion("7")
		for doing, remove := range map[string]func(Scope[*thing]) error{
			"prune":   func(s Scope[*thing]) error { return s.remove(t.Context(), live) },
			"Discard": func(s Scope[*thing]) error { return s.Discard(t.Context(), live, metav1.DeletePropagationForeground) },
		} {
			d := &deletions{}
			if err := remove(Scope[*thing]{Client: d, Obj: &thing{}, runner: &runner[*thing]{}}); err != nil {
				t.Fatal(err)
			}
			p := d.last.Preconditions
			if p == nil || p.UID == nil || *p.UID != "uid-1" || p.ResourceVersion == nil || *p.ResourceVersion != "7" {
				t.Errorf("%s deletes %T with the preconditions %+v, want its UID and resourceVersion", doing, live, p)
			}
		}
	}
}

// applies records what is applied over a live object.
type applies struct {
	client.Client
	live    *corev1.ConfigMap
	missing bool
	fails   error
	sent    *sending
}

func (a *applies) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	if a.missing {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	if a.fails != nil {
		return a.fails
	}
	a.live.DeepCopyInto(o.(*corev1.ConfigMap))
	return nil
}

func (a *applies) Apply(_ context.Context, o runtime.ApplyConfiguration, _ ...client.ApplyOption) error {
	a.sent = o.(*sending)
	return nil
}

// TestWhatIsDerivedFromAVersionIsAppliedToThatVersion: a child that takes account of what others may take is not applied
// over a version that was not looked at; any other is applied whatever its version.
func TestWhatIsDerivedFromAVersionIsAppliedToThatVersion(t *testing.T) {
	owner := &thing{}
	owner.SetNamespace("ns")
	owner.SetUID("owner")
	r := &runner[*thing]{gvk: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}}
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", UID: "uid-1", ResourceVersion: "7", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "example.com/v1", Kind: "Thing", UID: "owner", Controller: new(true)},
	}}}
	key := client.ObjectKeyFromObject(live)
	for reason, tc := range map[string]struct {
		looked func(*applies) // what the run has read before
		exact  bool
		want   string
	}{
		"any version":                     {func(*applies) {}, false, ""},
		"the one that is there":           {func(*applies) {}, true, "7"},
		"the one that was looked at":      {func(a *applies) { a.live.ResourceVersion = "6" }, true, "6"},
		"none, for there was none":        {func(a *applies) { a.missing = true }, true, neverVersion},
		"any, whatever was looked at":     {func(a *applies) { a.live.ResourceVersion = "6" }, false, ""},
		"the one that is there, no error": {func(a *applies) { a.fails = errors.New("no answer") }, true, "7"},
	} {
		a := &applies{live: live.DeepCopy()}
		tc.looked(a)
		s := Scope[*thing]{Client: look(a), Obj: owner, Clock: clock.RealClock{}, runner: r}
		if a.missing || a.fails != nil || a.live.ResourceVersion != "7" {
			_ = s.Client.Get(t.Context(), key, &corev1.ConfigMap{})
		}
		a.live, a.missing, a.fails = live, false, nil
		child := NewChild[corev1.ConfigMap](corev1ac.ConfigMap("child", "ns").WithData(map[string]string{"a": "b"}), corev1ac.ExtractConfigMap)
		if tc.exact {
			child = child.IfUnchanged()
		}
		if _, err := s.apply(t.Context(), child); err != nil {
			t.Fatal(err)
		}
		if a.sent == nil || a.sent.uid != "uid-1" || a.sent.version != tc.want {
			t.Errorf("%s: applied with %+v, want the version %q", reason, a.sent, tc.want)
		}
	}
}
