// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
	workloads "github.com/acme/platform-operator/internal/workload"
)

var _ = fixture("SchedulerProfile", &schedulerProfiles{})

// schedulerProfiles is the fixture of SchedulerProfile. Nothing here runs schedulers: a stand-in makes pods of Deployments, and says that
// they are ready and that the first one holds the Lease. The children are in the operator's namespace.
type schedulerProfiles struct {
	Ordinary
	running running
}

func schedulerProfile(o engine.Object) *v1alpha1.SchedulerProfile {
	return o.(*v1alpha1.SchedulerProfile)
}

// schedulerOf is the name of the children of an object, and of its Lease.
func schedulerOf(name string) string { return names.Job(name, "schedulerprofile") }

func schedulerProfileNamed(unique string) *v1alpha1.SchedulerProfile {
	return &v1alpha1.SchedulerProfile{ObjectMeta: metav1.ObjectMeta{Name: unique}}
}

// Start implements Fixture: the operator's Deployment names the images.
func (*schedulerProfiles) Start() {
	Expect(os.Setenv("RELATED_IMAGE_KUBE_SCHEDULER_1_36", "registry.acme.com/kube-scheduler:v1.36")).To(Succeed())
}

// Prepare implements Fixture.
func (f *schedulerProfiles) Prepare() {
	Expect(testenv.InstallScheduling(Plane)).To(Succeed())
	factory := informers.NewSharedInformerFactoryWithOptions(clientset(), 5*time.Second, informers.WithNamespace(testenv.OperatorNamespace))
	attend(factory.Apps().V1().Deployments().Informer(), "SchedulerProfile", schedulerOf, f.running.attend)
	untilTheEnd(factory)
}

// running remembers which version of each Deployment runs.
type running struct {
	mu       sync.Mutex
	versions map[types.UID]int64
}

// attend makes pods of a Deployment. What fails is tried again with the next resync.
func (r *running) attend(d *appsv1.Deployment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.versions[d.UID] == d.Generation {
		return
	}
	errs := []error{elect(d)}
	for i := range int32(3) {
		errs = append(errs, runPod(d, fmt.Sprintf("%s-%d", d.Name, i), i < *d.Spec.Replicas))
	}
	if errors.Join(errs...) == nil {
		if r.versions == nil {
			r.versions = map[types.UID]int64{}
		}
		r.versions[d.UID] = d.Generation
	}
}

// annotationTemplate is on the stand-in's pods: what they were made from.
const annotationTemplate = "test.example.com/template"

// runPod makes one pod, again if it is not what the Deployment wants.
func runPod(d *appsv1.Deployment, name string, wanted bool) error {
	ctx, template := context.Background(), string(d.UID)+"/"+workloads.Fingerprint(&d.Spec.Template)
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name}}
	err := Admin.Get(ctx, client.ObjectKeyFromObject(p), p)
	switch {
	case err == nil && wanted && p.Annotations[annotationTemplate] == template:
		return nil
	case err == nil:
		err = Admin.Delete(ctx, p, client.GracePeriodSeconds(0))
	}
	if client.IgnoreNotFound(err) != nil || !wanted {
		return client.IgnoreNotFound(err)
	}
	p = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: d.Namespace, Name: name, Labels: d.Spec.Template.Labels, Annotations: map[string]string{annotationTemplate: template},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
		},
		Spec: *d.Spec.Template.Spec.DeepCopy(),
	}
	if err := Admin.Create(ctx, p); err != nil {
		return err
	}
	p.Status.Phase, p.Status.Conditions = corev1.PodRunning, []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	if main := p.Spec.Containers[0]; main.Image == neverServes {
		p.Status.Phase, p.Status.Conditions = corev1.PodPending, nil
		p.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: main.Name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff"}},
		}}
	}
	return Admin.Status().Update(ctx, p)
}

// elect makes the first pod of a Deployment the holder of its Lease, for longer than any spec takes.
func elect(d *appsv1.Deployment) error {
	now := metav1.NowMicro()
	return client.IgnoreAlreadyExists(Admin.Create(context.Background(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: d.Name},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: new(d.Name + "-0_1"), LeaseDurationSeconds: new(int32(1 << 30)), RenewTime: &now,
		},
	}))
}

// Configuration implements Fixture.
func (*schedulerProfiles) Configuration() string {
	return "schedulerProfile: {retryMax: 1s, maxConcurrentReconciles: 10}\n"
}

// LeavesOut implements Fixture.
func (*schedulerProfiles) LeavesOut() map[string]string {
	return map[string]string{
		"G4 deletion":              "it has no finalizer: its deletion is one request, of the user's, and its children go by their owner references",
		"G6 lingering children":    "it has no finalizer: it goes at once, and its children follow by their owner references",
		"G6 Namespace":             "its children are in the operator's namespace, which ends with the operator",
		"G7 Namespace":             "it has no Namespace of its own in which somebody could write",
		"G7 finalizer":             "it has none: its deletion needs no operator",
		"G9 Secret beside it":      "it has no Namespace of its own, and the operator's has only Secrets of the operator",
		"G10 autoscaler":           "one replica is active, so that nothing is gained by more: how many there are is the spec's",
		"G13 in its own namespace": "its children are in the operator's namespace, in which no tenant may write",
	}
}

// Name implements Fixture: no two objects have a profile of the same name.
func (*schedulerProfiles) Name(sample engine.Object, unique string) {
	schedulerProfile(sample).Spec.Profiles[0].SchedulerName = unique
}

// Settled implements Fixture: former configurations are gone.
func (*schedulerProfiles) Settled(o engine.Object) bool {
	s := schedulerProfile(o).Status
	return s.ServingHash == s.WantedHash
}

// Reads implements Fixture: the pods of the scheduler.
func (*schedulerProfiles) Reads() float64 { return 1 }

// Change implements Fixture.
func (*schedulerProfiles) Change(o engine.Object, _ string) {
	schedulerProfile(o).Spec.Replicas = new(int32(3))
}

// Action implements Fixture.
func (*schedulerProfiles) Action(unique string) string {
	return "PATCH namespaces/" + testenv.OperatorNamespace + "/deployments/" + schedulerOf(unique)
}

// Transitions implements Fixture.
func (*schedulerProfiles) Transitions() map[string]func(engine.Object) {
	return map[string]func(engine.Object){
		"asking for another configuration and one pod": func(o engine.Object) {
			s := &schedulerProfile(o).Spec
			s.Replicas, s.Profiles[0].Strategy = new(int32(1)), v1alpha1.BinPacking
		},
		"asking for a program": func(o engine.Object) {
			s := &schedulerProfile(o).Spec
			s.Program, s.Profiles[0].Nodes = &v1alpha1.Program{Image: "registry.acme.com/scheduler:v1"}, nil
		},
	}
}

// Invalidate implements Fixture.
func (*schedulerProfiles) Invalidate(o *unstructured.Unstructured) {
	for path, value := range map[string]any{"replicas": int64(9), "profiles": []any{}, "retryAfter": "1s"} {
		Expect(unstructured.SetNestedField(o.Object, value, "spec", path)).To(Succeed())
	}
}

// Tamper implements Fixture. What a ConfigMap of a configuration holds cannot be changed.
func (*schedulerProfiles) Tamper(child *unstructured.Unstructured) []string {
	return map[string][]string{
		"ConfigMap":           {`{"metadata":{"annotations":{"platform.acme.com/owner":"x"}}}`},
		"Deployment":          {`{"spec":{"template":{"spec":{"serviceAccountName":"default","serviceAccount":"default"}}}}`, `{"spec":{"replicas":0}}`},
		"PodDisruptionBudget": {`{"spec":{"maxUnavailable":"100%"}}`},
		"Service":             {`{"spec":{"selector":{"scheduling.acme.com/profile":"none"}}}`},
	}[child.GetKind()]
}

// Foreign implements Fixture: what kubectl rollout restart does.
func (*schedulerProfiles) Foreign(other *unstructured.Unstructured) []string {
	if other.GetKind() != "Deployment" {
		return nil
	}
	return []string{`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`}
}

// Breakages implements Fixture.
func (*schedulerProfiles) Breakages() []Breakage {
	service := func(unique string) *corev1.Service {
		return serviceOfOther(testenv.OperatorNamespace, schedulerOf(unique))
	}
	other := func(unique string) *v1alpha1.SchedulerProfile {
		p := schedulerProfileNamed(unique + "-older")
		p.Spec.Profiles = []v1alpha1.Profile{{SchedulerName: unique}}
		return p
	}
	return []Breakage{
		{
			Name: "that a Service of its name is somebody else's", Unborn: true,
			Break: func(unique string) { discardLater(Create(service(unique))) },
			Mend: func(unique string) {
				Remove(service(unique))
				Annotate(schedulerProfileNamed(unique), "others.example.com/poke", "repaired")
			},
			Reason: engine.ReasonNameTaken, Status: status.FailedStatus,
		},
		{
			Name: "that an older object has its name", Unborn: true,
			Break: func(unique string) {
				o := Create(other(unique))
				discardLater(o)
				Eventually(func() bool { return time.Now().Unix() > o.CreationTimestamp.Unix() }).Should(BeTrue())
			},
			Mend:   func(unique string) { Remove(other(unique)) },
			Reason: "NameTaken", Status: status.FailedStatus,
		},
		{
			Name:  "that its next image cannot be pulled",
			Break: func(unique string) { Patch(schedulerProfileNamed(unique), `{"spec":{"image":"`+neverServes+`"}}`) },
			Mend:  func(unique string) { Patch(schedulerProfileNamed(unique), `{"spec":{"image":null}}`) },
			While: "RollingOut", Reason: "ImageRefused", Status: status.FailedStatus,
		},
	}
}
