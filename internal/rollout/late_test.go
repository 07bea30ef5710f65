/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package rollout

import (
	"context"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// reader lists Deployments, and counts how often it is asked for them.
type reader struct {
	client.Client
	deployments []*appsv1.Deployment
	asked       int
}

func (r *reader) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	l, ok := list.(*appsv1.DeploymentList)
	if !ok {
		return nil
	}
	r.asked++
	o := client.ListOptions{}
	o.ApplyOptions(opts)
	for _, d := range r.deployments {
		if o.FieldSelector == nil || o.FieldSelector.String() == "metadata.name="+d.Name {
			l.Items = append(l.Items, *d)
		}
	}
	return nil
}

func (r *reader) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// with is a Deployment whose pods all are as its template wants them, or that rolls because of a mark.
func with(name, mark, manager string) *appsv1.Deployment {
	key := names.RestartMark("configwatcher", "w")
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Generation: 1}}
	d.Status = appsv1.DeploymentStatus{ObservedGeneration: 1, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	if mark != "" {
		d.Generation = 2
		d.Spec.Template.Annotations = map[string]string{key: mark}
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: manager, FieldsV1: metav1.NewFieldsV1(`{"f:` + key + `":{}}`)}}
	}
	return d
}

// lately is a Restarter whose cache shows one thing while the API server has another.
func lately(cached, live []*appsv1.Deployment) (r *Restarter, cache, server *reader) {
	cache, server = &reader{deployments: cached}, &reader{deployments: live}
	return New(Options{Client: cache, Live: server, Event: func(client.Object, string, string, string) {}}), cache, server
}

func requestOf(s *common.RestartStatus) Request {
	w := &v1alpha1.ConfigWatcher{ObjectMeta: metav1.ObjectMeta{Name: "w"}}
	return Request{Kind: "configwatcher", Object: w, Selector: labels.Everything(), Status: s, Told: func(tell func()) { tell() }}
}

const rollouts = names.Operator + "-rollout"

// A workload that was marked in the run before takes a turn, though the cache does not show that yet.
func TestMaxConcurrentWithALateCache(t *testing.T) {
	a, b := with("a", "", ""), with("b", "", "")
	marked, taken := with("a", "new", rollouts), with("a", "theirs", "theirs")
	taken.Generation = 1
	for _, tc := range []struct {
		reason       string
		cached, live *appsv1.Deployment
		limit        int32
		waiting      int
		asks         int
	}{
		{"the cache is late", a, marked, 1, 1, 1},
		{"the cache shows that it rolls", marked, marked, 1, 1, 0},
		{"somebody took the mark off", a, taken, 1, 0, 1},
		{"it is gone", a, with("c", "", ""), 1, 0, 1},
		{"there is no limit", a, marked, 0, 0, 0},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := &common.RestartStatus{
				Pending: &common.PendingRestart{Mark: "new", Started: true}, Mark: "new",
				Workloads: []common.RestartedWorkload{deployment(a).id()},
			}
			r, _, server := lately([]*appsv1.Deployment{tc.cached, b}, []*appsv1.Deployment{tc.live, b})
			x := &execution{Restarter: r, req: requestOf(s), status: s}
			x.req.Policy.MaxConcurrent = tc.limit
			if err := x.survey(t.Context()); err != nil {
				t.Fatal(err)
			}
			waiting, err := x.roll(t.Context())
			if err != nil || waiting != tc.waiting {
				t.Errorf("%d wait, %v; want %d", waiting, err, tc.waiting)
			}
			if server.asked != tc.asks {
				t.Errorf("the API server was asked %d times, want %d", server.asked, tc.asks)
			}
		})
	}
}

// What only a late cache shows as taken off is not told as such.
func TestRevertedWithALateCache(t *testing.T) {
	a, b := with("a", "", ""), with("b", "", "")
	for _, tc := range []struct {
		reason       string
		cached, live []*appsv1.Deployment
		dryRun       bool
		want         string
		asks         int
	}{
		{reason: "the marks are there", cached: []*appsv1.Deployment{with("a", "m", rollouts), with("b", "m", rollouts)}, want: "True"},
		{
			reason: "the cache is late", cached: []*appsv1.Deployment{a, with("b", "m", rollouts)},
			live: []*appsv1.Deployment{with("a", "m", rollouts), with("b", "m", rollouts)}, want: "True", asks: 1,
		},
		{
			reason: "the cache is late for both", cached: []*appsv1.Deployment{a, b},
			live: []*appsv1.Deployment{with("a", "m", rollouts), with("b", "m", rollouts)}, want: "True", asks: 1,
		},
		{reason: "it is gone", cached: []*appsv1.Deployment{a}, want: "True", asks: 1},
		{reason: "it was taken off", cached: []*appsv1.Deployment{a}, live: []*appsv1.Deployment{a}, want: "False RestartReverted", asks: 1},
		{
			reason: "somebody set an older one", cached: []*appsv1.Deployment{with("a", "old", "kubectl")},
			live: []*appsv1.Deployment{with("a", "old", "kubectl")}, want: "False RestartReverted", asks: 1,
		},
		{
			reason: "the status is older than the mark", cached: []*appsv1.Deployment{with("a", "newer", rollouts)},
			live: []*appsv1.Deployment{with("a", "newer", rollouts)}, want: "True pending", asks: 1,
		},
		{
			reason: "nor is that restarted in a dry run", cached: []*appsv1.Deployment{with("a", "newer", rollouts)},
			live: []*appsv1.Deployment{with("a", "newer", rollouts)}, dryRun: true, want: "True", asks: 1,
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			s := &common.RestartStatus{Mark: "m", Workloads: []common.RestartedWorkload{deployment(a).id(), deployment(b).id()}}
			r, _, server := lately(tc.cached, tc.live)
			req := requestOf(s)
			req.Policy.DryRun = tc.dryRun
			out, err := r.settled(t.Context(), req, view{mark: "same"}, noon)
			status, reason, _ := engine.Verdict(out, err)
			got := strings.TrimSuffix(fmt.Sprintf("%s %s", status, reason), " Done")
			if s.Pending != nil {
				got += " pending"
			}
			if got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
			if server.asked != tc.asks {
				t.Errorf("the API server was asked %d times, want %d", server.asked, tc.asks)
			}
		})
	}
}
