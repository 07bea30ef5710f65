// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// patience is how long something may take to happen.
const patience = 2 * time.Minute

// live is a control plane without any scheduler, in which extra ones have the rights of config/scheduling and no others.
type live struct {
	client.Client
	// account is the access of schedulers, and operator that of the operator.
	account, operator *rest.Config
	// kubelet runs the pods of schedulers, and manager is the operator's program.
	kubelet *kubelet
	manager *manager
}

func startLive(t *testing.T) *live {
	t.Helper()
	plane, err := testenv.Start(testenv.Options{WithControllers: true, MoreControllers: []string{"deployment-controller", "replicaset-controller"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	l := &live{}
	if l.Client, err = client.New(plane.Config, client.Options{Scheme: testScheme()}); err != nil {
		t.Fatal(err)
	}
	if l.account, err = plane.User("system:serviceaccount:"+namespace+":"+DefaultAccount, "system:serviceaccounts"); err != nil {
		t.Fatal(err)
	}
	if l.operator, err = plane.User(testenv.OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+namespace); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(testenv.InstallConfig(plane), testenv.InstallScheduling(plane)); err != nil {
		t.Fatal(err)
	}
	return l
}

// writeAccess writes a kubeconfig.
func writeAccess(c *rest.Config, file string) error {
	return clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"c": {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"u": {ClientCertificateData: c.CertData, ClientKeyData: c.KeyData}},
		Contexts:  map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}}, CurrentContext: "x",
	}, file)
}

func (l *live) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := l.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// node creates a node with room for pods.
func (l *live) node(t *testing.T, name string, labels map[string]string) *corev1.Node {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	l.create(t, n)
	n.Spec.Taints = nil // the API server adds one
	if err := l.Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	n.Status.Allocatable = corev1.ResourceList{"cpu": resource.MustParse("64"), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("500")}
	n.Status.Capacity = n.Status.Allocatable
	if err := l.Status().Update(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (l *live) pod(t *testing.T, name, scheduler string, selector map[string]string) client.ObjectKey {
	t.Helper()
	l.create(t, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}, Spec: corev1.PodSpec{
		SchedulerName: scheduler, NodeSelector: selector, Containers: []corev1.Container{{Name: "c", Image: "registry.acme.com/skynet/t1000:v1"}},
	}})
	return client.ObjectKey{Namespace: metav1.NamespaceDefault, Name: name}
}

// await polls until a pod is as wanted, and returns how long that took.
func (l *live) await(t *testing.T, key client.ObjectKey, what string, within time.Duration, is func(*corev1.Pod) bool) time.Duration {
	t.Helper()
	start, p := time.Now(), &corev1.Pod{}
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, within, true, func(ctx context.Context) (bool, error) {
		if err := l.Get(ctx, key, p); err != nil {
			return false, err
		}
		return is(p), nil
	})
	if err != nil {
		t.Fatalf("the pod %s is not %s: %v; it is on %q, %+v", key.Name, what, err, p.Spec.NodeName, p.Status.Conditions)
	}
	return time.Since(start)
}

func on(node string) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool { return p.Spec.NodeName == node }
}

func placed(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

// waits reports whether a pod waits because of the scheduler's own rule on nodes.
func waits(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return strings.Contains(c.Message, "didn't match scheduler-enforced node affinity") && p.Spec.NodeName == ""
		}
	}
	return false
}

// process is a running kube-scheduler.
type process struct {
	*exec.Cmd
	log  safeBuffer
	done chan struct{}
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// launch starts kube-scheduler on a host of its own, with a configuration and the arguments of its container. Only the access to the API
// server is added to the configuration: a pod finds that by itself.
func (l *live) launch(folder, host, config string, args ...string) (*process, error) {
	var all map[string]any
	if err := yaml.Unmarshal([]byte(config), &all); err != nil {
		return nil, err
	}
	kubeconfig := filepath.Join(folder, "kubeconfig")
	all["clientConnection"] = map[string]any{"kubeconfig": kubeconfig}
	text, err := yaml.Marshal(all)
	if err := errors.Join(err, os.WriteFile(filepath.Join(folder, configFile), text, 0o600), writeAccess(l.account, kubeconfig)); err != nil {
		return nil, err
	}
	s := &process{done: make(chan struct{})}
	s.Cmd = exec.Command("sh", slices.Concat([]string{"-c", `hostname "$0" && exec "$@"`, host, binary()}, inFolder(folder, args))...)
	s.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUTS}
	if os.Geteuid() != 0 {
		s.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		s.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		s.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	s.Stdout, s.Stderr = &s.log, &s.log
	if err := s.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(s.done)
		_ = s.Wait() // it is killed
	}()
	return s, nil
}

// finish ends a scheduler with the test, and wants it to have had all rights that it needed.
func (s *process) finish(t *testing.T) {
	s.kill()
	if t.Failed() {
		t.Logf("the log of kube-scheduler %d:\n%s", s.Process.Pid, s.log.String())
	}
	if strings.Contains(strings.ToLower(s.log.String()), "forbidden") {
		t.Errorf("it lacks rights:\n%s", s.log.String())
	}
}

// replica starts a replica of the scheduler of an object, until the test ends.
func (l *live) replica(t *testing.T, p *v1alpha1.SchedulerProfile) *process {
	t.Helper()
	in := inputFor(t, p)
	// Port 0 serves no probes: replicas share the network here.
	s, err := l.launch(t.TempDir(), p.Name, in.config, append(in.scheduler().Args, "--secure-port=0")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.finish(t) })
	return s
}

func (s *process) kill() {
	_ = s.Process.Kill() // it may have ended
	<-s.done
}

func (s *process) leads() bool {
	return strings.Contains(s.log.String(), "Successfully acquired lease")
}

// awaitTry waits until a replica has tried to become the active one.
func (s *process) awaitTry(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		return strings.Contains(s.log.String(), "Attempting to acquire leader lease"), nil
	})
	if err != nil {
		t.Fatal("a replica does not try to become the active one")
	}
}

// TestLive runs real schedulers with the configuration, the arguments and the rights that they are to have, beside no other scheduler.
func TestLive(t *testing.T) {
	limit.Labeled(t, limit.Slow, limit.Timed)
	l := startLive(t)
	// One pod waits for nobody, and one for a scheduler that is none of the operator's.
	lost := l.pod(t, "lost", "nobody", nil)
	l.replica(t, named("foreign", func(s *v1alpha1.SchedulerProfileSpec) {
		s.Profiles = []v1alpha1.Profile{{SchedulerName: "foreign", Nodes: &v1alpha1.Nodes{LabelKeys: []v1alpha1.LabelKey{"nowhere"}}}}
	}))
	patient := l.pod(t, "patient", "foreign", nil)
	l.kubelet, l.manager = l.startKubelet(t), l.startManager(t)
	t.Run("schedulers", func(t *testing.T) {
		t.Run("refusal", l.testRefusal)
		t.Run("quota", l.testQuota)
		t.Run("pod security", l.testPodSecurity)
		t.Run("the seed", l.testSeed)
		t.Run("kill", l.testKill)
	})
	l.await(t, patient, "looked at by the other scheduler", patience, func(p *corev1.Pod) bool { return len(p.Status.Conditions) > 0 && !placed(p) })
	l.wantEvent(t, lost)
	// Nobody has used the Lease of the default scheduler.
	leases := &coordinationv1.LeaseList{}
	if err := l.List(t.Context(), leases, client.InNamespace(metav1.NamespaceSystem)); err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases.Items {
		if lease.Name == "kube-scheduler" {
			t.Errorf("the Lease of the default scheduler is held by %v", lease.Spec.HolderIdentity)
		}
	}
}

// testSeed: a pod of the seed is placed only on a node with its own label and the scheduler's label key, also if the node gets the
// key late: kube-scheduler does not notice that by itself, but retries.
func (l *live) testSeed(t *testing.T) {
	t.Parallel()
	gpu, both := map[string]string{"device": "gpu"}, map[string]string{"device": "gpu", "selectable": ""}
	late := l.node(t, "seed-gpu", gpu)
	l.node(t, "seed-selectable", map[string]string{"selectable": ""})
	l.replica(t, named("seed", func(s *v1alpha1.SchedulerProfileSpec) { s.RetryAfter = &metav1.Duration{Duration: 10 * time.Second} }))
	first := l.pod(t, "terminator", "selective", gpu)
	other := l.pod(t, "foreign", corev1.DefaultSchedulerName, nil)
	l.await(t, first, "waiting", patience, waits)
	l.node(t, "seed-both", both)
	l.await(t, first, "placed on the new node with both labels", patience, on("seed-both"))

	if err := l.Delete(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "seed-both"}}); err != nil {
		t.Fatal(err)
	}
	second := l.pod(t, "terminator-2", "selective", gpu)
	l.await(t, second, "waiting", patience, waits)
	patch := client.MergeFrom(late.DeepCopy())
	late.Labels["selectable"] = "no-matter"
	if err := l.Patch(t.Context(), late, patch); err != nil {
		t.Fatal(err)
	}
	took := l.await(t, second, "placed on the node that got the label", patience, on("seed-gpu"))
	fmt.Printf("a pod was placed %.1f s after a node got the label\n", took.Seconds()) //nolint:forbidigo // It is a measurement.
	if p := (&corev1.Pod{}); l.Get(t.Context(), other, p) != nil || len(p.Status.Conditions) > 0 || p.Spec.NodeName != "" {
		t.Errorf("a pod of another scheduler was touched: %+v", p.Status)
	}
}

// testKill: while pods arrive, the active one of two replicas is killed. The other one places what has waited.
func (l *live) testKill(t *testing.T) {
	t.Parallel()
	p := named("packs", func(s *v1alpha1.SchedulerProfileSpec) {
		s.Profiles = []v1alpha1.Profile{{SchedulerName: "packs", Strategy: v1alpha1.BinPacking, Nodes: &v1alpha1.Nodes{LabelKeys: []v1alpha1.LabelKey{"packs"}}}}
	})
	l.node(t, "packs", map[string]string{"packs": ""})
	active := l.replica(t, p)
	l.await(t, l.pod(t, "packs-first", "packs", nil), "placed", patience, placed)
	standby := l.replica(t, p)
	standby.awaitTry(t)
	if !active.leads() || standby.leads() {
		t.Fatalf("the first leads: %t, the second: %t", active.leads(), standby.leads())
	}
	var longest time.Duration
	for i := range 20 {
		if i == 5 {
			active.kill()
		}
		longest = max(longest, l.await(t, l.pod(t, fmt.Sprintf("packs-%d", i), "packs", nil), "placed", patience, placed))
	}
	fmt.Printf("after kill -9 of the active scheduler, the longest wait was %.1f s\n", longest.Seconds()) //nolint:forbidigo // It is a measurement.
	if longest < time.Second || !standby.leads() {
		t.Errorf("the active scheduler was not replaced; the other one leads: %t", standby.leads())
	}
}
