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
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
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
