// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv/paging"
	"github.com/acme/platform-operator/internal/workload"
)

// cluster is the API server with pods, for a Restarter that removes some.
type cluster struct {
	client.Client
	pods    []corev1.Pod
	removed []string
}

func (c *cluster) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	switch l := list.(type) {
	case *corev1.PodList:
		l.Items = c.pods
	case *metav1.PartialObjectMetadataList:
		for _, p := range c.pods {
			l.Items = append(l.Items, metav1.PartialObjectMetadata{ObjectMeta: p.ObjectMeta})
		}
	}
	return nil
}

func (c *cluster) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	c.removed = append(c.removed, o.GetName())
	return nil
}

// aPod is a pod of an owner, ready for so long; less than nothing is not ready.
func aPod(name, kind, owner string, ready time.Duration) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), Labels: map[string]string{"app": owner}}}
	if kind != "" {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, UID: types.UID(owner), Controller: new(true)}}
	}
	if kind == "ReplicaSet" {
		p.Labels["pod-template-hash"] = "1"
	}
	is := corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon.Add(-ready))}
	if ready < 0 {
		is.Status = corev1.ConditionFalse
	}
	p.Status.Conditions = []corev1.PodCondition{is}
	return p
}

func going(p corev1.Pod) corev1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: noon}
	return p
}

// With a limit no pod is removed that is available while so many others are not: no matter who owns them, however they are removed.
func TestRemoveKeepsPodsAvailable(t *testing.T) {
	set := func(name string, want int32, minReady int32) workload.Workload {
		o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}
		o.Spec = appsv1.StatefulSetSpec{Replicas: &want, MinReadySeconds: minReady, UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}}
		return of(o)
	}
	web := of(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "d"}, Spec: appsv1.DeploymentSpec{
		Replicas: new(int32(2)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}})
	daemons := of(&appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "n"}, Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2},
	})
	rolls := of(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "rolls", UID: "rolls"}})
	rolls.Template.Annotations = map[string]string{"autoreboot.acme.com/configwatcher.w": "1.m"}
	const long, no = time.Hour, -1
	of := func(name, owner string, ready time.Duration) corev1.Pod {
		return aPod(name, "StatefulSet", owner, ready)
	}
	for _, tc := range []struct {
		reason  string
		limit   int32
		rollout bool
		is      []workload.Workload
		pods    []corev1.Pod
		pending string
		removed string
		waits   string
		says    string
	}{
		{
			reason: "the first one", limit: 1, is: []workload.Workload{set("s", 3, 20)}, pending: "a b c", removed: "a", waits: ReasonEvicting, says: "Pod/a is terminating",
			pods: []corev1.Pod{of("a", "s", long), of("b", "s", long), of("c", "s", long)},
		},
		{
			reason: "one is terminating", limit: 1, is: []workload.Workload{set("s", 3, 20)}, pending: "a b c", waits: ReasonEvicting, says: "Pod/a is terminating",
			pods: []corev1.Pod{going(of("a", "s", long)), of("b", "s", long), of("c", "s", long)},
		},
		{
			reason: "one is gone", limit: 1, is: []workload.Workload{set("s", 3, 20)}, pending: "b c", waits: ReasonMaxConcurrent, says: "StatefulSet/s has 2 of 3 pods available",
			pods: []corev1.Pod{of("b", "s", long), of("c", "s", long)},
		},
		{
			reason: "its successor is not ready", limit: 1, is: []workload.Workload{set("s", 3, 20)}, pending: "b c", waits: ReasonMaxConcurrent, says: "StatefulSet/s has 2 of 3 pods available",
			pods: []corev1.Pod{of("a2", "s", no), of("b", "s", long), of("c", "s", long)},
		},
		{
			reason: "its successor is ready, and not available yet", limit: 1, is: []workload.Workload{set("s", 3, 20)}, pending: "b c", waits: ReasonMaxConcurrent, says: "2 of 3 pods",
			pods: []corev1.Pod{of("a2", "s", 19*time.Second), of("b", "s", long), of("c", "s", long)},
		},
		{
			reason: "its successor is available", limit: 1, is: []workload.Workload{set("s", 3, 20)}, pending: "b c", removed: "b", waits: ReasonEvicting,
			pods: []corev1.Pod{of("a2", "s", 20*time.Second), of("b", "s", long), of("c", "s", long)},
		},
		{
			reason: "two may be away", limit: 2, is: []workload.Workload{set("s", 3, 0)}, pending: "b c", removed: "b", waits: ReasonMaxConcurrent, says: "2 of 3 pods",
			pods: []corev1.Pod{of("a2", "s", no), of("b", "s", long), of("c", "s", long)},
		},
		{
			reason: "one that is not ready goes first, though it is the reason why its owner lacks one", limit: 1, is: []workload.Workload{set("s", 3, 0)},
			pending: "a b c", removed: "c", waits: ReasonEvicting, pods: []corev1.Pod{of("a", "s", long), of("b", "s", long), of("c", "s", no)},
		},
		{
			reason: "none is ready: one after the other", limit: 1, is: []workload.Workload{set("s", 2, 0)},
			pending: "a b", removed: "a", waits: ReasonEvicting, pods: []corev1.Pod{of("a", "s", no), of("b", "s", no)},
		},
		{
			reason: "a pod of another workload is not available", limit: 1, is: []workload.Workload{set("r", 1, 0), set("s", 1, 0)}, pending: "b",
			waits: ReasonMaxConcurrent, says: "StatefulSet/r has 0 of 1 pod available", pods: []corev1.Pod{of("a2", "r", no), of("b", "s", long)},
		},
		{
			reason: "by its template", limit: 1, rollout: true, is: []workload.Workload{set("s", 2, 0)}, pending: "b", waits: ReasonMaxConcurrent, says: "StatefulSet/s has 1 of 2",
			pods: []corev1.Pod{of("a2", "s", no), of("b", "s", long)},
		},
		{
			reason: "another workload is rolling", limit: 1, rollout: true, is: []workload.Workload{rolls, set("s", 1, 0)}, pending: "b", waits: ReasonMaxConcurrent, says: "Deployment/rolls is rolling",
			pods: []corev1.Pod{of("b", "s", long)},
		},
		{
			reason: "pods of a Deployment", limit: 1, is: []workload.Workload{web}, pending: "b", waits: ReasonMaxConcurrent, says: "Deployment/web has 1 of 2 pods available",
			pods: []corev1.Pod{aPod("a2", "ReplicaSet", "web", no), aPod("b", "ReplicaSet", "web", long)},
		},
		{
			reason: "pods of a Deployment that are available", limit: 1, is: []workload.Workload{web}, pending: "b", removed: "b", waits: ReasonEvicting,
			pods: []corev1.Pod{aPod("a2", "ReplicaSet", "web", long), aPod("b", "ReplicaSet", "web", long)},
		},
		{
			reason: "pods of a DaemonSet", limit: 1, is: []workload.Workload{daemons}, pending: "b", waits: ReasonMaxConcurrent, says: "DaemonSet/n has 1 of 2 pods available",
			pods: []corev1.Pod{aPod("b", "DaemonSet", "n", long)},
		},
		{
			reason: "pods of an owner that is not known", limit: 1, pending: "b", waits: ReasonMaxConcurrent, says: "Pod/a2 is not ready",
			pods: []corev1.Pod{aPod("a2", "Cluster", "x", no), aPod("b", "Cluster", "x", long)},
		},
		{
			reason: "such an owner has not made the next one yet", limit: 1, pending: "a b", waits: ReasonMaxConcurrent, says: "in the place of those that are gone",
			pods: []corev1.Pod{aPod("b", "Cluster", "x", long)},
		},
		{
			reason: "pods without an owner are not replaced", limit: 1, pending: "b", removed: "b", waits: ReasonEvicting,
			pods: []corev1.Pod{aPod("a", "", "", no), aPod("b", "", "", long)},
		},
		{
			reason: "no limit", is: []workload.Workload{set("s", 3, 20)}, pending: "a b", removed: "a b",
			pods: []corev1.Pod{of("a", "s", long), of("b", "s", no)},
		},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			c := &cluster{pods: tc.pods}
			r := &Restarter{Options: Options{Client: c, Live: c, Event: func(client.Object, string, string, string) {}}}
			s := &common.RestartStatus{Pending: &common.PendingRestart{Started: true, PodsListed: true, Number: 1, Mark: "1.m"}}
			for _, name := range strings.Fields(tc.pending) {
				s.Pending.Pods = append(s.Pending.Pods, types.UID(name))
			}
			req := Request{
				Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, Selector: labels.SelectorFromSet(labels.Set{"a": "b"}),
				Policy: common.RestartPolicy{Strategy: common.RestartDelete, MaxConcurrent: tc.limit}, Status: s, Told: func(func()) {}, kind: "configwatcher",
			}
			x := &execution{Restarter: r, req: req, status: s, workloads: tc.is}
			if tc.rollout {
				x.req.Policy.Strategy = ""
				r.Client = evicts{c}
			}
			out, err := x.removePods(t.Context(), noon)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(c.removed, " "); got != tc.removed {
				t.Errorf("removed %q, want %q", got, tc.removed)
			}
			if tc.waits == "" {
				if s.Pending != nil {
					t.Errorf("the restart waits: %+v", out)
				}
				return
			}
			if s.Pending.Reason != tc.waits || !out.GoesOn() || !strings.Contains(fmt.Sprintf("%+v", out), tc.says) {
				t.Errorf("waits with %q, %+v; want %q, %q", s.Pending.Reason, out, tc.waits, tc.says)
			}
			if slices.Contains(s.Pending.Pods, "a2") {
				t.Error("a successor is removed")
			}
		})
	}
}

// evicts is a cluster of which no pod may be deleted.
type evicts struct{ *cluster }

func (evicts) Delete(context.Context, client.Object, ...client.DeleteOption) error {
	panic("evictions ask budgets")
}

func of(o client.Object) workload.Workload {
	w, _ := workload.Of(o)
	return w
}

// pages is an API server with many pods. It fails the test when too many are asked for in one answer.
type pages struct {
	client.Reader
	t    *testing.T
	pods []corev1.Pod
}

func (p pages) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	if asked.Limit < 1 || asked.Limit > 100 || asked.Namespace != "ns" {
		p.t.Errorf("%d pods of %q in one answer", asked.Limit, asked.Namespace)
	}
	from, to := paging.Cut(list, asked, len(p.pods))
	return (&cluster{pods: p.pods[from:to]}).List(ctx, list)
}

func TestPodsAreReadAFewAtATimeAndLittleIsKept(t *testing.T) {
	all := make([]corev1.Pod, 0, 45)
	for i := range cap(all) {
		pod := aPod(fmt.Sprint("p", i), "ReplicaSet", "w", time.Duration(i%2-1)*time.Second)
		pod.Annotations = map[string]string{"large": strings.Repeat("x", 100<<10), corev1.MirrorPodAnnotationKey: "m"}
		pod.ManagedFields, pod.Namespace = []metav1.ManagedFieldsEntry{{Manager: "x"}}, "ns"
		all = append(all, pod)
	}
	r := &Restarter{Options: Options{Live: pages{t: t, pods: all}}}
	for limit, ready := range map[int32]int{0: 0, 1: 22} {
		got, since, err := r.pods(t.Context(), Request{
			Object: &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns"}}, Policy: common.RestartPolicy{MaxConcurrent: limit},
		}, labels.Everything())
		if err != nil || len(got) != len(all) || len(since) != ready {
			t.Fatalf("limit %d: %d pods, %d ready, %v", limit, len(got), len(since), err)
		}
		for i, p := range got {
			want := metav1.ObjectMeta{
				Namespace: "ns", Name: all[i].Name, UID: all[i].UID, Labels: all[i].Labels, OwnerReferences: all[i].OwnerReferences,
				Annotations: map[string]string{corev1.MirrorPodAnnotationKey: "m"},
			}
			if diff := cmp.Diff(want, p.ObjectMeta); diff != "" || p.Kind != "Pod" || p.APIVersion != "v1" {
				t.Fatalf("limit %d, %s: -want +got:\n%s", limit, p.Name, diff)
			}
		}
	}
}
