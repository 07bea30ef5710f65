// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/acme/platform-operator/internal/plugin"
)

// tabs are CronTabs in a fake cluster.
var tabs = plugin.Kind{
	GroupVersionResource: schema.GroupVersionResource{Group: "batch.acme.com", Version: "v1alpha1", Resource: "crontabs"}, Kind: "CronTab", Namespaced: true,
}

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// faked returns a fake cluster with CronTabs.
func faked(count int) (*Cluster, *fake.FakeDynamicClient) {
	var objects []runtime.Object
	for i := range count {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(tabs.GroupVersion().WithKind(tabs.Kind))
		o.SetNamespace("a")
		o.SetName(fmt.Sprintf("tab-%d", i))
		objects = append(objects, o)
	}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		tabs.GroupVersionResource: "CronTabList", {Version: "v1", Resource: "events"}: "EventList", jobs: "JobList",
	}, objects...)
	return &Cluster{Namespace: "a", OperatorNamespace: "op", Kinds: []plugin.Kind{tabs}, dynamic: client}, client
}

// TestReportSaysWhatIsMissing: what is too much, or cannot be listed, is noted.
func TestReportSaysWhatIsMissing(t *testing.T) {
	c, client := faked(maxReported + 2)
	events := &unstructured.UnstructuredList{Items: []unstructured.Unstructured{{}}}
	events.SetContinue("more")
	var failure error
	client.PrependReactor("list", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failure != nil {
			return true, nil, failure
		}
		return true, events, nil
	})
	f, err := c.Report(t.Context())
	want := []string{"there are more crontabs than the first 500, which are here", "there are more events of crontabs than the first 500, which are here"}
	if err != nil || len(f.Objects["CronTab"]) != maxReported || len(f.Events) != 1 || !slices.Equal(f.Notes, want) {
		t.Errorf("%v %d %q", err, len(f.Objects["CronTab"]), f.Notes)
	}
	failure = errors.New("broken")
	f, err = c.Report(t.Context())
	if err != nil || len(f.Events) != 0 || !slices.Equal(f.Notes, []string{want[0], "the events of crontabs could not be listed"}) {
		t.Errorf("%v %q", err, f.Notes)
	}
}
