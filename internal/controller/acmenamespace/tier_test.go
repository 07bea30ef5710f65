// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"context"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/tenancy"
)

// crowd is a namespace with so many pods, which meet every level.
type crowd int

func (c crowd) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(opts)
	from, _ := strconv.Atoi(asked.Continue)
	to := min(int(c), from+int(asked.Limit))
	list.(*corev1.PodList).Items = make([]corev1.Pod, to-from)
	if to < int(c) {
		list.SetContinue(strconv.Itoa(to))
	}
	return nil
}

func (crowd) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

// TestNothingIsSaidOfPodsThatNobodyLookedAt: status.podSecurity says that all pods meet the level.
func TestNothingIsSaidOfPodsThatNobodyLookedAt(t *testing.T) {
	for pods, want := range map[crowd]struct {
		recorded v1alpha1.PodSecurityLevel
		said     string
	}{
		tenancy.MaxPods:     {v1alpha1.PodSecurityBaseline, "with the Pod Security level baseline, which all pods meet"},
		tenancy.MaxPods + 1: {"", "which the first 500 pods meet; more exist and were not checked"},
	} {
		r := &run{Scope: engine.Scope[*v1alpha1.AcmeNamespace]{Live: pods, Obj: &v1alpha1.AcmeNamespace{}}}
		r.grant.Tier.PodSecurity = v1alpha1.PodSecurityBaseline
		got, err := r.checkTier(t.Context())
		if err != nil || got.violated || r.Obj.Status.PodSecurity != want.recorded || !strings.HasSuffix(got.message, want.said) {
			t.Errorf("%d pods: recorded %q, %+v, %v", pods, r.Obj.Status.PodSecurity, got, err)
		}
	}
}
