// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
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
	live *corev1.ConfigMap
	sent *sending
}

func (a *applies) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
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
	for want, exact := range map[string]bool{"7": true, "": false} {
		a := &applies{live: live}
		child := NewChild[corev1.ConfigMap](corev1ac.ConfigMap("child", "ns").WithData(map[string]string{"a": "b"}), corev1ac.ExtractConfigMap)
		if exact {
			child = child.IfUnchanged()
		}
		if _, err := (Scope[*thing]{Client: a, Obj: owner, Clock: clock.RealClock{}, runner: r}).apply(t.Context(), child); err != nil {
			t.Fatal(err)
		}
		if a.sent == nil || a.sent.uid != "uid-1" || a.sent.version != want {
			t.Errorf("exact %v: applied with %+v, want the version %q", exact, a.sent, want)
		}
	}
}
