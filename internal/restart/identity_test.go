// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/workload"
)

// writes records what a Restarter sends.
type writes struct {
	client.Client
	patch   []byte
	deleted *metav1.Preconditions
	evicted []*metav1.Preconditions
}

func (w *writes) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) (err error) {
	w.patch, err = patch.Data(o)
	return err
}

func (w *writes) Delete(_ context.Context, _ client.Object, options ...client.DeleteOption) error {
	all := client.DeleteOptions{}
	all.ApplyOptions(options)
	w.deleted = all.Preconditions
	return nil
}

func (w *writes) SubResource(string) client.SubResourceClient { return evictions{to: w} }

type evictions struct {
	client.SubResourceClient
	to *writes
}

func (e evictions) Create(_ context.Context, _, eviction client.Object, _ ...client.SubResourceCreateOption) error {
	e.to.evicted = append(e.to.evicted, eviction.(*policyv1.Eviction).DeleteOptions.Preconditions)
	return nil
}

// TestAMarkIsForTheVeryWorkload: one that was created again under the same name is not restarted, and nothing but the
// annotations is claimed.
func TestAMarkIsForTheVeryWorkload(t *testing.T) {
	w := workload.Workload{Kind: workload.Deployment, Meta: &metav1.ObjectMeta{Namespace: "ns", Name: "d", UID: "uid-1"}}
	for version, meta := range map[string]map[string]any{
		"": {"uid": "uid-1"}, "7": {"uid": "uid-1", "resourceVersion": "7"},
	} {
		sent := &writes{}
		r := &Restarter{Options: Options{Client: sent}}
		if _, err := r.mark(t.Context(), w, map[string]string{"key": "1.mark"}, version); err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(sent.patch, &got); err != nil {
			t.Fatal(err)
		}
		annotations := map[string]any{"metadata": map[string]any{"annotations": map[string]any{"key": "1.mark"}}}
		want := map[string]any{"metadata": meta, "spec": map[string]any{"template": annotations}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("with the version %q (-want +got):\n%s", version, diff)
		}
	}
}

// TestAPodIsRemovedByItsUID: a StatefulSet makes another one of the same name.
func TestAPodIsRemovedByItsUID(t *testing.T) {
	pod := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "d-0", UID: "uid-1"}}
	sent := &writes{}
	r := &Restarter{Options: Options{Client: sent}}
	for _, strategy := range []common.RestartStrategy{common.RestartDelete, common.RestartEvict} {
		if err := r.removeOne(t.Context(), strategy, pod); err != nil {
			t.Fatal(err)
		}
	}
	want := &metav1.Preconditions{UID: new(types.UID("uid-1"))}
	if diff := cmp.Diff(want, sent.deleted); diff != "" {
		t.Errorf("a deletion (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]*metav1.Preconditions{want, want}, sent.evicted); diff != "" {
		t.Errorf("the trial and the eviction (-want +got):\n%s", diff)
	}
}

// TestAPartOfAHashIsNotTwo: whatever stands between two parts, content can hold it, too.
func TestAPartOfAHashIsNotTwo(t *testing.T) {
	key := KeyOf([]byte("root"), "uid")
	for _, between := range []string{"", "\x00", "\x00\x00\x00\x00\x00\x00\x00\x00", "\x00\x00\x00\x00\x00\x00\x00\x01"} {
		if key.Hash([]byte("a"+between+"b")) == key.Hash([]byte("a"), []byte("b")) {
			t.Errorf("the parts a and b have the hash of %q", "a"+between+"b")
		}
	}
}
