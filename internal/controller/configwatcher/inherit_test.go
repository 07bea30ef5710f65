// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/restart"
)

// TestWhatTheFormerWatcherReadIsInherited: an annotated object was created again, and its former ConfigWatcher restarted for the new
// content before Kubernetes deleted it. The next one must not restart for that again.
func TestWhatTheFormerWatcherReadIsInherited(t *testing.T) {
	key := restart.KeyOf([]byte("root"), "uid")
	source := v1alpha1.Source{Kind: v1alpha1.SourceSecret, Name: "s"}
	k := kind{cache: &store{}, live: &store{}, readings: restart.NewCache[string, reading](10)}
	observed := func(owner types.UID, keyID string, pending *common.PendingRestart) *run {
		w := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "s-secret", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "Secret", Name: "s", UID: owner, Controller: new(true)},
		}}}
		r := &run{kind: k, watcher: w, req: requestFor(w)}
		r.req.Told = func(tell func()) { tell() }
		r.req.Status.KeyID, r.req.Status.Pending = keyID, pending
		if err := r.observe(t.Context(), key, source); err != nil {
			t.Fatal(err)
		}
		r.remember()
		return r
	}
	for _, tc := range []struct {
		reason  string
		pending *common.PendingRestart
		unknown bool
	}{{"the pods run with it", nil, false}, {"a restart was pending", &common.PendingRestart{}, true}} {
		observed("uid-0", key.ID(), tc.pending)
		next := observed("uid-1", "", nil) // that of the Secret
		want := next.req.Observed[0].Legacy().Hash
		if tc.unknown {
			want = unknown
		}
		if got := next.req.Status.Observed; len(got) != 1 || got[0].Hash != want {
			t.Errorf("%s: the next one begins with %+v, want %s", tc.reason, got, want)
		}
	}
}
