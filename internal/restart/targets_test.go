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
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

func TestRolling(t *testing.T) {
	three, done := new(int32(3)), appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 3, UpdatedReplicas: 3, AvailableReplicas: 3}
	deploymentOf := func(s appsv1.DeploymentStatus, paused bool) *appsv1.Deployment {
		return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Replicas: three, Paused: paused}, Status: s}
	}
	with := func(f func(*appsv1.DeploymentStatus)) appsv1.DeploymentStatus {
		s := done
		f(&s)
		return s
	}
	setOf := func(f func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
		o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.StatefulSetSpec{Replicas: three}}
		o.Status = appsv1.StatefulSetStatus{ObservedGeneration: 2, AvailableReplicas: 3, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "b"}
		f(o)
		return o
	}
	for _, tc := range []struct {
		reason string
		is     workload
		want   bool
	}{
		{"all are new and available", deployment(deploymentOf(done, false)), false},
		{"not seen yet", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.ObservedGeneration = 1 }), false)), true},
		{"some are old", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.UpdatedReplicas = 2 }), false)), true},
		{"old ones are still there", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.Replicas = 4 }), false)), true},
		{"some are not available", deployment(deploymentOf(with(func(s *appsv1.DeploymentStatus) { s.AvailableReplicas = 2 }), false)), true},
		{"paused", deployment(deploymentOf(appsv1.DeploymentStatus{}, true)), false},
		{"a StatefulSet in the middle", statefulSet(setOf(func(*appsv1.StatefulSet) {})), true},
		{"a StatefulSet at its end", statefulSet(setOf(func(o *appsv1.StatefulSet) { o.Status.CurrentRevision = "b" })), false},
		{"a StatefulSet of which one is not available", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Status.CurrentRevision, o.Status.AvailableReplicas = "b", 2
		})), true},
		{"a StatefulSet up to its partition", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(2))}
		})), false},
		{"a StatefulSet that is updated by hand", statefulSet(setOf(func(o *appsv1.StatefulSet) {
			o.Spec.UpdateStrategy.Type = appsv1.OnDeleteStatefulSetStrategyType
		})), false},
		{"a DaemonSet in the middle", daemonSet(&appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{DesiredNumberScheduled: 2, UpdatedNumberScheduled: 1}}), true},
		{"a DaemonSet at its end", daemonSet(&appsv1.DaemonSet{Status: appsv1.DaemonSetStatus{
			DesiredNumberScheduled: 2, UpdatedNumberScheduled: 2, NumberAvailable: 2,
		}}), false},
	} {
		if tc.is.rolling != tc.want {
			t.Errorf("%s: rolling is %v", tc.reason, tc.is.rolling)
		}
	}
}

func TestHeldBack(t *testing.T) {
	old := appsv1.StatefulSetStatus{ObservedGeneration: 2, AvailableReplicas: 3, UpdatedReplicas: 1, CurrentRevision: "a", UpdateRevision: "b"}
	set := func(partition int32, s appsv1.StatefulSetStatus) workload {
		o := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.StatefulSetSpec{Replicas: new(int32(3))}, Status: s}
		o.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}
		return statefulSet(o)
	}
	paused := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}, Spec: appsv1.DeploymentSpec{Paused: true}}
	rolled := paused.DeepCopy()
	rolled.Status = appsv1.DeploymentStatus{ObservedGeneration: 2, Replicas: 1, UpdatedReplicas: 1}
	for _, tc := range []struct {
		reason string
		is     workload
		want   bool
	}{
		{"a Deployment that is paused before it rolled", deployment(paused), true},
		{"a Deployment that was paused after it had rolled", deployment(rolled), false},
		{"a StatefulSet with a partition", set(2, old), true},
		{"a StatefulSet with the partition 0", set(0, old), false},
		{"a StatefulSet whose pods are all new", set(2, appsv1.StatefulSetStatus{ObservedGeneration: 2, UpdatedReplicas: 3, CurrentRevision: "b", UpdateRevision: "b"}), false},
	} {
		if got := tc.is.isHeldBack(); got != tc.want {
			t.Errorf("%s: %v", tc.reason, got)
		}
	}
}

func TestFingerprint(t *testing.T) {
	one, two := &corev1.PodTemplateSpec{}, &corev1.PodTemplateSpec{}
	one.Spec.Containers = []corev1.Container{{Image: "one"}}
	two.Spec.Containers = []corev1.Container{{Image: "two"}}
	if Fingerprint(one) == Fingerprint(two) || Fingerprint(one) != Fingerprint(one.DeepCopy()) {
		t.Error("a fingerprint identifies a template")
	}
	live := deployment(&appsv1.Deployment{Spec: appsv1.DeploymentSpec{Template: *one}})
	cached := deployment(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationTemplate: Fingerprint(one)}}})
	if live.fingerprint() != cached.fingerprint() {
		t.Error("the cache and the API server differ")
	}
}

// A late cache, or a peer's that is, never puts an older mark over a newer one.
func TestMarksOfPeers(t *testing.T) {
	of := func(name, mark string) Request {
		return Request{
			Object: &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}}, Selector: labels.Everything(),
			Status: &common.RestartStatus{Pending: &common.PendingRestart{Number: 1, Mark: mark}},
		}
	}
	other, evicts, dry, paused, legacy := of("other", "2.y"), of("evicts", "2.y"), of("dry", "2.y"), of("paused", "2.y"), of("0.1.0", "2.y")
	other.Selector = labels.Nothing()
	evicts.Policy.Strategy, dry.Policy.DryRun, legacy.Status.Pending.Number = common.RestartEvict, true, 0
	paused.Object.SetAnnotations(map[string]string{names.AnnotationPaused: "true"})
	all := []Request{of("newer", "2.y"), of("older", "2.y"), of("same", "2.x"), of("legacy", "2.y"), of("none", "2.y"), of("itself", "2.y"), other, evicts, dry, paused, legacy}
	peers := Peers{kinds: []peerKind{{"k", func(context.Context, client.Reader, ...client.ListOption) ([]Request, error) { return all, nil }}}}
	w := deployment(&appsv1.Deployment{})
	mark := func(name string) string { return names.RestartMark("k", name) }
	w.template.Annotations = map[string]string{
		mark("newer"): "3.x", mark("older"): "1.x", mark("same"): "2.x", mark("legacy"): "0123456789abcdef0123456789abcdef",
	}
	got, err := peers.marks(t.Context(), nil, of("itself", "1.x"), w)
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
	w := deployment(&appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	w.template.Labels = map[string]string{"app": "web", "tier": "front"}
	for _, tc := range []struct {
		req  Request
		want string
	}{
		{Request{Target: &Target{kindDeployment, "web"}}, "Deployment/web"},
		{Request{Selector: labels.SelectorFromSet(labels.Set{"tier": "front", "app": "web"})}, "app=web"},
		{Request{Selector: selector(t, "app!=db,tier in (front)")}, "tier=front"},
		{Request{Selector: selector(t, "app!=db")}, ""},
		{Request{Selector: labels.Everything()}, ""},
	} {
		if got := tc.req.key(); got != tc.want || !tc.req.selects(w) || got != "" && !slices.Contains(w.keys(), got) {
			t.Errorf("the key is %q, want one of %q: %q", got, w.keys(), tc.want)
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
	rolls, stays := workload{selector: chosen}, workload{selector: chosen, onDelete: true}
	for _, tc := range []struct {
		reason   string
		strategy common.RestartStrategy
		is       []workload
		want     string
	}{
		{"restarted by its template", common.RestartRollout, []workload{rolls}, labels.Nothing().String()},
		{"updated by hand", common.RestartRollout, []workload{stays}, "app=web"},
		{"evicted", common.RestartEvict, []workload{rolls}, "app=web"},
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
		{kindDeployment, "web"}: "Done", {kindDeployment, "wbe"}: ReasonTargetMissing, {kindStatefulSet, "web"}: ReasonTargetMissing,
	} {
		req := Request{Object: &appsv1.Deployment{}, Target: &target, Status: &common.RestartStatus{}}
		out, err := r.settled(t.Context(), req, noon)
		if err != nil || out.Reason() != want {
			t.Errorf("%v: %+v, %v; want %s", target, out, err, want)
		}
	}
	x := &execution{Restarter: r, req: Request{Target: &Target{kindDeployment, "wbe"}}, status: &common.RestartStatus{Pending: &common.PendingRestart{}}}
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
