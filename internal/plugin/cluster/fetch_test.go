// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"

	"github.com/acme/platform-operator/internal/plugin"
)

// TestChildrenThatMayNotBeListed: who may read an object sees it, whatever else may not be listed.
func TestChildrenThatMayNotBeListed(t *testing.T) {
	c, client := faked(1)
	forbidden := apierrors.NewForbidden(tabs.GroupResource(), "", errors.New("no"))
	client.PrependReactor("list", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, forbidden })
	owner, err := c.resource(tabs, "a").Get(t.Context(), "tab-0", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.Resources = []plugin.Kind{{GroupVersionResource: jobs, Kind: "Job", Namespaced: true}}
	f := plugin.Fetched{Kind: tabs, Object: owner}
	if err := c.children(t.Context(), &f); err != nil || len(f.Hidden.Forbidden) != 1 {
		t.Errorf("%v %+v", err, f.Hidden)
	}
	broken := errors.New("broken")
	other := tabs
	other.Resource = "others"
	for _, kinds := range [][]plugin.Kind{{tabs, other}, {other, tabs}} {
		_, err = together(kinds, func(k plugin.Kind) error {
			if k.Resource == "others" {
				return broken
			}
			return forbidden
		})
		if !errors.Is(err, broken) {
			t.Error(err)
		}
	}
}
