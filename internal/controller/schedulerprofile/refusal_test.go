// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
)

// manager is the operator's own program, which is started with the rights of its deployment, and killed.
type manager struct {
	*process
	program string
	access  string
}

func (l *live) startManager(t *testing.T) *manager {
	t.Helper()
	folder := t.TempDir()
	m := &manager{program: filepath.Join(folder, "manager"), access: filepath.Join(folder, "kubeconfig")}
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-o", m.program, "./cmd")
	build.Dir = testenv.RepoFile()
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the operator: %v\n%s", err, out)
	}
	if err := writeAccess(l.operator, m.access); err != nil {
		t.Fatal(err)
	}
	m.start(t)
	t.Cleanup(func() {
		m.kill()
		if t.Failed() {
			t.Logf("the log of the operator:\n%s", m.log.String())
		}
	})
	return m
}

func (m *manager) start(t *testing.T) {
	t.Helper()
	m.process = &process{done: make(chan struct{})}
	m.Cmd = exec.Command(m.program, "--kubeconfig="+m.access, "--namespace="+namespace, "--metrics-bind-address=0", "--health-probe-bind-address=0", "--webhook-port=-1")
	m.Env = append(os.Environ(), "RELATED_IMAGE_KUBE_SCHEDULER_1_36="+image)
	m.Stdout, m.Stderr = &m.log, &m.log
	if err := m.Start(); err != nil {
		t.Fatal(err)
	}
	go func(s *process) {
		defer close(s.done)
		_ = s.Wait() // it is killed
	}(m.process)
}

// awaitReady waits until Ready of the latest version of an object has a status and a reason, and returns the message.
func (l *live) awaitReady(t *testing.T, p *v1alpha1.SchedulerProfile, want string) (message string) {
	t.Helper()
	got := "nothing"
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if err := l.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return false, err
		}
		if c := meta.FindStatusCondition(p.Status.Conditions, "Ready"); c != nil && c.ObservedGeneration == p.Generation {
			got, message = string(c.Status)+" "+c.Reason, c.Message
		}
		return got == want, nil
	})
	if err != nil {
		t.Fatalf("the SchedulerProfile is %s (%s), not %s: %v", got, message, want, err)
	}
	return message
}

// change changes the profile of an object.
func (l *live) change(t *testing.T, p *v1alpha1.SchedulerProfile, change func(*v1alpha1.Profile)) {
	t.Helper()
	patch := client.MergeFrom(p.DeepCopy())
	change(&p.Spec.Profiles[0])
	if err := l.Patch(t.Context(), p, patch); err != nil {
		t.Fatal(err)
	}
}

// list lists what belongs to an object in the operator's namespace.
func (l *live) list(t *testing.T, p *v1alpha1.SchedulerProfile, of client.ObjectList) (names []string) {
	t.Helper()
	if err := l.List(t.Context(), of, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	_ = meta.EachListItem(of, func(o runtime.Object) error {
		if name := o.(client.Object).GetName(); strings.HasPrefix(name, p.Name+"-") {
			names = append(names, name)
		}
		return nil
	})
	slices.Sort(names)
	return names
}

// serving are the pods that are ready and have a configuration.
func (l *live) serving(t *testing.T, p *v1alpha1.SchedulerProfile, hash string) (names []string) {
	t.Helper()
	list := &corev1.PodList{}
	if err := l.List(t.Context(), list, client.InNamespace(namespace), client.MatchingLabels{LabelProfile: childName(p), LabelConfig: hash}); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		if podOf(&list.Items[i]).ready {
			names = append(names, list.Items[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// holder is the pod that holds the Lease of an object.
func (l *live) holder(t *testing.T, p *v1alpha1.SchedulerProfile) string {
	t.Helper()
	lease := &coordinationv1.Lease{}
	if err := l.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: childName(p)}, lease); err != nil {
		t.Fatal(err)
	}
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	return pod
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, within time.Duration, is func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, within, true, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		t.Fatalf("it is not so that %s: %v", what, err)
	}
}

// noScore and noFilter are raw parts that only kube-scheduler refuses.
const (
	noScore  = `{"plugins":{"score":{"enabled":[{"name":"NodePorts"}]}}}`
	noFilter = `{"plugins":{"filter":{"enabled":[{"name":"ImageLocality"}]}}}`
)

// testRefusal: a configuration that kube-scheduler refuses leaves alone the pods, the Lease and the work of the scheduler that runs, also when
// the operator and these very pods are killed and start again. The operator is its own program; Kubernetes' controllers make the pods.
func (l *live) testRefusal(t *testing.T) {
	t.Parallel()
	l.node(t, "canary", map[string]string{"canary": ""})
	p := named("canary", func(s *v1alpha1.SchedulerProfileSpec) {
		s.Profiles[0] = v1alpha1.Profile{SchedulerName: "canary", Nodes: &v1alpha1.Nodes{LabelKeys: []v1alpha1.LabelKey{"canary"}}}
	})
	l.create(t, p)
	places := func(name string) {
		t.Helper()
		took := l.await(t, l.pod(t, name, "canary", nil), "placed", patience, on("canary"))
		fmt.Printf("%s: a pod was placed in %.1f s\n", name, took.Seconds()) //nolint:forbidigo // It is a measurement.
	}
	l.awaitReady(t, p, "True Ready")
	places("ready")
	hash, old, active := p.Status.ServingHash, l.serving(t, p, p.Status.ServingHash), l.holder(t, p)
	unharmed := func(message, want string) {
		t.Helper()
		if !strings.Contains(message, want) || !strings.HasSuffix(message, "meanwhile former pods continue to serve") {
			t.Errorf("it says %q, want %q", message, want)
		}
		configs := []string{configName(p, hash), configName(p, p.Status.WantedHash)}
		slices.Sort(configs)
		if diff := cmp.Diff(configs, l.list(t, p, &corev1.ConfigMapList{})); p.Status.ServingHash != hash || diff != "" {
			t.Errorf("the former configuration is gone; -want +got:\n%s", diff)
		}
	}

	l.change(t, p, func(p *v1alpha1.Profile) { p.Raw = raw(noScore) })
	unharmed(l.awaitReady(t, p, "False ConfigRefused"), `plugin "NodePorts" does not extend ScorePlugin`)
	places("refused")
	if now := l.serving(t, p, hash); !slices.Equal(now, old) || l.holder(t, p) != active {
		t.Errorf("the pods %q serve, %s is active; before it were %q and %s", now, l.holder(t, p), old, active)
	}

	l.manager.kill()
	if n := l.kubelet.kill(old); n != 2 {
		t.Fatalf("%d schedulers were killed", n)
	}
	l.manager.start(t)
	places("refused-and-killed")
	eventually(t, "the killed pods serve again", patience, func() bool { return slices.Equal(l.serving(t, p, hash), old) })
	l.change(t, p, func(p *v1alpha1.Profile) { p.Raw = raw(noFilter) })
	unharmed(l.awaitReady(t, p, "False ConfigRefused"), `plugin "ImageLocality" does not extend FilterPlugin`)
	places("refused-twice")
	if active := l.holder(t, p); !slices.Contains(old, active) {
		t.Errorf("the active one of the pods %q is %s", old, active)
	}

	l.change(t, p, func(p *v1alpha1.Profile) { p.Raw = nil })
	l.awaitReady(t, p, "True Ready")
	if now := l.serving(t, p, hash); !slices.Equal(now, old) {
		t.Errorf("the pods %q serve after all; before it were %q", now, old)
	}
	l.testReplacement(t, p, places)
}

// testReplacement: another configuration with which kube-scheduler starts replaces all pods, and nothing is left when the object is removed.
func (l *live) testReplacement(t *testing.T, p *v1alpha1.SchedulerProfile, places func(string)) {
	t.Helper()
	old := l.serving(t, p, p.Status.ServingHash)
	l.change(t, p, func(p *v1alpha1.Profile) { p.Strategy = v1alpha1.BinPacking })
	places("replaced")
	l.awaitReady(t, p, "True Ready")
	now := l.serving(t, p, p.Status.ServingHash)
	if len(now) != 2 || slices.ContainsFunc(now, func(name string) bool { return slices.Contains(old, name) }) || !slices.Contains(now, l.holder(t, p)) {
		t.Errorf("the pods %q serve, %s is active; before it were %q", now, l.holder(t, p), old)
	}
	eventually(t, "the former configuration is gone", patience, func() bool {
		return slices.Equal(l.list(t, p, &corev1.ConfigMapList{}), []string{configName(p, p.Status.WantedHash)})
	})
	if err := l.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	eventually(t, "nothing is left", patience, func() bool {
		var left []string
		for _, of := range []client.ObjectList{
			&appsv1.DeploymentList{}, &appsv1.ReplicaSetList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{},
		} {
			left = append(left, l.list(t, p, of)...)
		}
		return len(left) == 0 && l.kubelet.runs(p.Name) == 0
	})
}

// testQuota: that a quota of the operator's namespace leaves no room for the pods is reported, and over when there is.
func (l *live) testQuota(t *testing.T) {
	t.Parallel()
	l.create(t, &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "no-room"}})
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "no-room"}, Spec: corev1.ResourceQuotaSpec{
		Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("0")},
		ScopeSelector: &corev1.ScopeSelector{MatchExpressions: []corev1.ScopedResourceSelectorRequirement{
			{ScopeName: corev1.ResourceQuotaScopePriorityClass, Operator: corev1.ScopeSelectorOpIn, Values: []string{"no-room"}},
		}},
	}}
	l.create(t, quota)
	eventually(t, "the quota is in force", patience, func() bool {
		return l.Get(t.Context(), client.ObjectKeyFromObject(quota), quota) == nil && len(quota.Status.Hard) > 0
	})
	p := named("starved", func(s *v1alpha1.SchedulerProfileSpec) {
		s.Profiles, s.PriorityClassName, s.Replicas = []v1alpha1.Profile{{SchedulerName: "starved"}}, "no-room", new(int32(1))
	})
	l.create(t, p)
	message := l.awaitReady(t, p, "False PodsRejected")
	if !strings.Contains(message, "exceeded quota: no-room") || !strings.HasSuffix(message, "meanwhile no pod serves the profiles") {
		t.Errorf("it says %q", message)
	}
	if err := l.Delete(t.Context(), quota); err != nil {
		t.Fatal(err)
	}
	l.awaitReady(t, p, "True Ready")
}

// testPodSecurity: the pods of schedulers meet the strictest of the pod security standards, which the operator's namespace enforces. Only another
// admission of an administrator's can reject them; that is reported as a quota is.
func (l *live) testPodSecurity(t *testing.T) {
	t.Parallel()
	ns, pod := &corev1.Namespace{}, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "lax"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "lax", Image: image}}},
	}
	if err := l.Get(t.Context(), client.ObjectKey{Name: namespace}, ns); err != nil || ns.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Fatalf("the namespace has the labels %v (%v)", ns.Labels, err)
	}
	if err := l.Create(t.Context(), pod, client.DryRunAll); err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted`) {
		t.Errorf("a pod without a security context gets %v", err)
	}
}

// wantEvent: within 75 seconds, a pod that no scheduler looks at gets one event, whatever happens to the operator meanwhile; and none does that
// waits for a scheduler of somebody else's.
func (l *live) wantEvent(t *testing.T, lost client.ObjectKey) {
	t.Helper()
	pod, list, told := &corev1.Pod{}, &eventsv1.EventList{}, []string{}
	if err := l.Get(t.Context(), lost, pod); err != nil {
		t.Fatal(err)
	}
	var after time.Duration
	eventually(t, "the pod has an event", patience, func() bool {
		if err := l.List(t.Context(), list, client.InNamespace(lost.Namespace)); err != nil {
			return false
		}
		told = nil
		for _, e := range list.Items {
			if e.Reason == EventNoSuchScheduler || e.Reason == EventNotServing {
				told, after = append(told, e.Reason+" "+e.Regarding.Name), e.EventTime.Sub(pod.CreationTimestamp.Time)
			}
		}
		return len(told) > 0
	})
	if diff := cmp.Diff([]string{EventNoSuchScheduler + " " + lost.Name}, told); diff != "" {
		t.Errorf("events, -want +got:\n%s", diff)
	}
	if after > 75*time.Second {
		t.Errorf("the event came %s after the pod", after)
	}
}
