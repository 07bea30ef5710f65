// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/workload"
)

// A late cache, or a peer's that is, never puts an older mark over a newer one.
func TestMarksOfPeers(t *testing.T) {
	asks := func(name, mark string) Request {
		return Request{
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}, Selector: labels.Everything(),
			Status: &common.RestartStatus{Pending: &common.PendingRestart{Number: 1, Mark: mark}},
		}
	}
	other, evicts, dry, paused, legacy := asks("other", "2.y"), asks("evicts", "2.y"), asks("dry", "2.y"), asks("paused", "2.y"), asks("0.1.0", "2.y")
	other.Selector = labels.Nothing()
	evicts.Policy.Strategy, dry.Policy.DryRun, legacy.Status.Pending.Number = common.RestartEvict, true, 0
	paused.Object.SetAnnotations(map[string]string{names.AnnotationPaused: "true"})
	all := []Request{asks("newer", "2.y"), asks("older", "2.y"), asks("same", "2.x"), asks("legacy", "2.y"), asks("none", "2.y"), asks("itself", "2.y"), other, evicts, dry, paused, legacy}
	peers := Peers{kinds: []peerKind{{"k", func(context.Context, client.Reader, ...client.ListOption) ([]Request, error) { return all, nil }}}}
	w := of(&appsv1.Deployment{})
	mark := func(name string) string { return names.RestartMark("k", name) }
	w.Template.Annotations = map[string]string{
		mark("newer"): "3.x", mark("older"): "1.x", mark("same"): "2.x", mark("legacy"): "0123456789abcdef0123456789abcdef",
	}
	got, err := peers.marks(t.Context(), nil, asks("itself", "1.x"), w)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{mark("older"): "2.y", mark("legacy"): "2.y", mark("none"): "2.y"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// What a request selects has the request's key, whatever selects it.
func TestKeys(t *testing.T) {
	w := of(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	w.Template.Labels = map[string]string{"app": "web", "tier": "front"}
	for _, tc := range []struct {
		req  Request
		want string
	}{
		{Request{Target: &Target{workload.Deployment, "web"}}, "Deployment/web"},
		{Request{Selector: labels.SelectorFromSet(labels.Set{"tier": "front", "app": "web"})}, "app=web"},
		{Request{Selector: selector(t, "app!=db,tier in (front)")}, "tier=front"},
		{Request{Selector: selector(t, "app!=db")}, ""},
		{Request{Selector: labels.Everything()}, ""},
	} {
		if got := tc.req.key(); got != tc.want || !tc.req.selects(w) || got != "" && !slices.Contains(keysOf(w), got) {
			t.Errorf("the key is %q, want one of %q: %q", got, keysOf(w), tc.want)
		}
	}
}

func selector(t *testing.T, text string) labels.Selector {
	t.Helper()
	s, err := labels.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestConcerns(t *testing.T) {
	d := func(generation int64, mark string, paused bool) *appsv1.Deployment {
		o := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{UID: "d", Generation: generation}}
		o.Spec.Template.Annotations = map[string]string{"k": mark}
		o.Spec.Paused = paused
		return o
	}
	settled := common.RestartStatus{Mark: "m", Workloads: []common.RestartedWorkload{{UID: "d", Generation: 2}}}
	waits := settled
	waits.Pending = &common.PendingRestart{Reason: ReasonMaxConcurrent}
	ready := d(2, "m", false)
	ready.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1, AvailableReplicas: 1}
	for _, tc := range []struct {
		reason string
		status common.RestartStatus
		held   bool
		is     *appsv1.Deployment
		want   bool
	}{
		{"it has the mark", settled, false, ready, false},
		{"it lost the mark", settled, false, d(3, "", false), true},
		{"it did not have the mark yet", settled, false, d(1, "", false), false},
		{"it was never restarted", common.RestartStatus{Mark: "m"}, false, d(3, "", false), false},
		{"others wait, and it rolls", waits, false, d(2, "m", false), false},
		{"others wait, and it is ready", waits, false, ready, true},
		{"it is still paused", settled, true, d(2, "m", true), false},
		{"it is not paused any more", settled, true, d(2, "m", false), true},
	} {
		if got := concerns("k", &tc.status, tc.held, tc.is); got != tc.want {
			t.Errorf("%s: %v", tc.reason, got)
		}
	}
}

func TestRestartable(t *testing.T) {
	podOf := func(f func(*metav1.PartialObjectMetadata)) *metav1.PartialObjectMetadata {
		p := &metav1.PartialObjectMetadata{}
		f(p)
		return p
	}
	owned := func(apiVersion, kind string) *metav1.PartialObjectMetadata {
		return podOf(func(p *metav1.PartialObjectMetadata) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Controller: new(true)}}
		})
	}
	ofByHand := owned("apps/v1", "StatefulSet")
	ofByHand.OwnerReferences[0].UID = "by hand"
	ofDeployment := owned("apps/v1", "ReplicaSet")
	ofDeployment.Labels = map[string]string{"pod-template-hash": "1"}
	static := podOf(func(p *metav1.PartialObjectMetadata) {
		p.Annotations = map[string]string{"kubernetes.io/config.mirror": "1"}
	})
	going := owned("argoproj.io/v1alpha1", "Rollout")
	going.DeletionTimestamp = &metav1.Time{Time: noon}
	for _, tc := range []struct {
		reason                 string
		pod                    *metav1.PartialObjectMetadata
		rollout, alone, evicts bool
	}{
		{"without a controller", podOf(func(*metav1.PartialObjectMetadata) {}), false, true, true},
		{"of a Deployment", ofDeployment, false, false, true},
		{"of a ReplicaSet by itself", owned("apps/v1", "ReplicaSet"), true, false, true},
		{"of a StatefulSet", owned("apps/v1", "StatefulSet"), false, false, true},
		{"of a StatefulSet that is updated by hand", ofByHand, true, false, true},
		{"of another kind of StatefulSet", owned("apps.kruise.io/v1", "StatefulSet"), true, false, true},
		{"of a DaemonSet", owned("apps/v1", "DaemonSet"), false, false, true},
		{"of an owner that we do not know", owned("example.com/v1", "Cluster"), true, false, true},
		{"of a Job", owned("batch/v1", "Job"), false, false, false},
		{"of a node", static, false, false, false},
		{"that is going", going, false, false, false},
	} {
		for strategy, want := range map[common.RestartStrategy]bool{
			"": tc.rollout, common.RestartRollout: tc.rollout, common.RestartEvict: tc.evicts, common.RestartDelete: tc.evicts,
		} {
			yes, alone := restartable(strategy, tc.pod, []types.UID{"by hand"})
			byTemplate := strategy == "" || strategy == common.RestartRollout
			if yes != want || alone != (tc.alone && byTemplate) {
				t.Errorf("a pod %s with the strategy %q: restarted %v, left alone %v", tc.reason, strategy, yes, alone)
			}
		}
	}
}

// The pods of a target are looked at only when the mark alone does not restart them.
func TestPodSelectorOfATarget(t *testing.T) {
	chosen := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rolls, stays := workload.Workload{Selector: chosen}, workload.Workload{Selector: chosen, OnDelete: true}
	for _, tc := range []struct {
		reason   string
		strategy common.RestartStrategy
		is       []workload.Workload
		want     string
	}{
		{"restarted by its template", common.RestartRollout, []workload.Workload{rolls}, labels.Nothing().String()},
		{"updated by hand", common.RestartRollout, []workload.Workload{stays}, "app=web"},
		{"evicted", common.RestartEvict, []workload.Workload{rolls}, "app=web"},
		{"not there", common.RestartEvict, nil, labels.Nothing().String()},
	} {
		req := Request{Target: &Target{}, Policy: common.RestartPolicy{Strategy: tc.strategy}}
		got, err := req.podSelector(tc.is)
		if err != nil || got.String() != tc.want {
			t.Errorf("%s: %q, %v; want %q", tc.reason, got, err, tc.want)
		}
	}
}

// A target that does not exist is reported, whatever else is; it is another one than that of the same name and another kind.
func TestMissingTarget(t *testing.T) {
	r := &Restarter{memory: newMemory(), Options: Options{Client: oneDeployment{d: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}}}}
	for target, want := range map[Target]string{
		{workload.Deployment, "web"}: "Done", {workload.Deployment, "wbe"}: ReasonTargetMissing, {workload.StatefulSet, "web"}: ReasonTargetMissing,
	} {
		req := Request{Object: &appsv1.Deployment{}, Target: &target, Status: &common.RestartStatus{}}
		out, err := r.settled(t.Context(), req, noon)
		if err != nil || out.Reason() != want {
			t.Errorf("%v: %+v, %v; want %s", target, out, err, want)
		}
	}
	x := &execution{Restarter: r, req: Request{Target: &Target{workload.Deployment, "wbe"}}, status: &common.RestartStatus{Pending: &common.PendingRestart{}}}
	if out := x.end(common.OutcomeNothing, ""); out.Reason() != ReasonTargetMissing {
		t.Errorf("after a change: %+v", out)
	}
}

// live is what the API server has.
type live []metav1.PartialObjectMetadata

func (live) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return nil
}

func (l live) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*metav1.PartialObjectMetadataList).Items = l
	return nil
}

// A conflict has many reasons. Only what is missing, or has another UID, is gone.
func TestGone(t *testing.T) {
	of := func(uid types.UID) metav1.PartialObjectMetadata {
		return metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "d", UID: uid}}
	}
	conflict := apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "d", errors.New("a webhook says so"))
	missing := apierrors.NewNotFound(schema.GroupResource{Resource: "deployments"}, "d")
	for _, tc := range []struct {
		reason string
		live   live
		err    error
		want   bool
	}{
		{"no error", live{of("1")}, nil, false},
		{"it is not found", live{}, missing, true},
		{"a conflict, and it is there", live{of("1")}, conflict, false},
		{"a conflict, and another one has its name", live{of("2")}, conflict, true},
		{"a conflict, and it is gone", live{}, conflict, true},
		{"another error", live{}, errors.New("broken"), false},
	} {
		r := &Restarter{Options: Options{Live: tc.live}}
		if got := r.gone(t.Context(), new(of("1")), tc.err); got != tc.want {
			t.Errorf("%s: %v", tc.reason, got)
		}
	}
}
