// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	schedulingv1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/hack/cluster/binaries"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
)

const (
	// scheduled is the namespace of the pods that other schedulers place.
	scheduled = "scheduled"
	// selective is a SchedulerProfile and its profile, ownScheduler one that runs a program.
	selective    = "selective"
	ownScheduler = "mine"
)

// The pod of the seed names no scheduler: it gets one by its namespace.
var _ = withOperator("SchedulerProfile", func() {
	It("says what an administrator has to do first, and serves then", func(ctx SpecContext) {
		lab.pushScheduler(ctx)
		lab.route(ctx, selective, scheduled)
		lab.awaitProfile(ctx, selective, "False RightsMissing")
		kubectlAsAdmin(ctx, "apply", "--server-side", "-k", "config/scheduling")
		start := time.Now()
		lab.awaitProfile(ctx, selective, "True NoNodes")
		say("it serves %s after config/scheduling was applied, and says that no node has the label", since(start))
	}, NodeTimeout(3*soon))

	It("lets a pod wait until a node gets the label", func(ctx SpecContext) {
		nodes := &corev1.NodeList{}
		Expect(lab.client.List(ctx, nodes)).To(Succeed())
		node := nodes.Items[0].Name
		kubectlAsAdmin(ctx, "label", "node", node, "device=gpu")
		DeferCleanup(func(ctx context.Context) { kubectlAsAdmin(ctx, "label", "node", node, "device-", "selectable-") })
		eventually(ctx, "pods are routed", soon, func(g Gomega) { // the API server reads policies from a cache
			pod := seedPod(ctx, g, client.DryRunAll)
			g.Expect(pod.Spec.SchedulerName).To(Equal(selective))
		})
		pod := seedPod(ctx, Default)
		eventually(ctx, "the pod waits for the label", soon, func(g Gomega) {
			g.Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			g.Expect(pod.Status.Conditions).To(ContainElement(And(HaveField("Type", corev1.PodScheduled),
				HaveField("Message", ContainSubstring("didn't match scheduler-enforced node affinity")))))
		})
		kubectlAsAdmin(ctx, "label", "node", node, "selectable=")
		start := time.Now()
		awaitRunning(ctx, pod)
		say("the pod runs on %s, %s after that got the label", pod.Spec.NodeName, since(start))
		lab.awaitProfile(ctx, selective, "True Ready")
	}, NodeTimeout(4*soon))

	It("runs a scheduler of somebody's own, which places a pod", func(ctx SpecContext) {
		Expect(lab.client.Create(ctx, &schedulingv1alpha1.SchedulerProfile{
			ObjectMeta: metav1.ObjectMeta{Name: ownScheduler},
			Spec: schedulingv1alpha1.SchedulerProfileSpec{
				Profiles: []schedulingv1alpha1.Profile{{SchedulerName: ownScheduler}},
				Program:  &schedulingv1alpha1.Program{Image: lab.app, Args: []string{"schedule"}},
			},
		})).To(Succeed())
		pod := lab.pod(scheduled, "placed", "serve")
		pod.Spec.SchedulerName = ownScheduler
		Expect(lab.client.Create(ctx, pod)).To(Succeed())
		start := time.Now()
		lab.awaitProfile(ctx, ownScheduler, "True Ready")
		awaitRunning(ctx, pod)
		say("the program has placed a pod, which runs %s after the object was created", since(start))
	}, NodeTimeout(3*soon))

	It("leaves nothing in the operator's namespace", func(ctx SpecContext) {
		Expect(lab.client.DeleteAllOf(ctx, &schedulingv1alpha1.SchedulerProfile{})).To(Succeed())
		eventually(ctx, "no child is left", soon, func(g Gomega) { lab.noScheduler(ctx, g) })
		Expect(lab.client.Delete(ctx, namespaceOf(scheduled))).To(Succeed())
		say("nothing of the schedulers is left; their pods are gone")
	}, NodeTimeout(2*soon))
})

// route makes a namespace, and a SchedulerProfile to which its pods are routed.
func (w *world) route(ctx context.Context, name, namespace string) {
	GinkgoHelper()
	ns := namespaceOf(namespace)
	ns.Labels = map[string]string{"team": namespace}
	Expect(w.client.Create(ctx, ns)).To(Succeed())
	Expect(w.client.Create(ctx, &schedulingv1alpha1.SchedulerProfile{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: schedulingv1alpha1.SchedulerProfileSpec{
			Profiles: []schedulingv1alpha1.Profile{{
				SchedulerName: name, Nodes: &schedulingv1alpha1.Nodes{LabelKeys: []schedulingv1alpha1.LabelKey{"selectable"}},
			}},
			RetryAfter: &metav1.Duration{Duration: 10 * time.Second},
			Routing: &schedulingv1alpha1.Routing{
				Profile: name, NamespaceLabels: map[string]schedulingv1alpha1.LabelValue{"team": schedulingv1alpha1.LabelValue(namespace)},
			},
		},
	})).To(Succeed())
}

// noScheduler checks that the operator's namespace has nothing of a scheduler, but for Leases.
func (w *world) noScheduler(ctx context.Context, g Gomega) {
	for _, list := range []client.ObjectList{
		&appsv1.DeploymentList{}, &corev1.PodList{}, &corev1.ConfigMapList{}, &corev1.ServiceList{}, &policyv1.PodDisruptionBudgetList{},
	} {
		g.Expect(w.schedulers(ctx, g, list)).To(BeEmpty())
	}
}

// schedulers are the names of objects of a type that belong to schedulers.
func (w *world) schedulers(ctx context.Context, g Gomega, list client.ObjectList) (names []string) {
	g.Expect(w.client.List(ctx, list, client.InNamespace(systemNamespace))).To(Succeed())
	g.Expect(meta.EachListItem(list, func(o runtime.Object) error {
		if name := o.(client.Object).GetName(); strings.Contains(name, "-schedulerprofile") {
			names = append(names, name)
		}
		return nil
	})).To(Succeed())
	return names
}

// pushScheduler makes the image of kube-scheduler that the operator's Deployment names, and that of the pod that waits.
func (w *world) pushScheduler(ctx context.Context) {
	GinkgoHelper()
	version, err := binaries.KubernetesVersion(root())
	Expect(err).NotTo(HaveOccurred())
	for image, f := range map[string]struct {
		program, path string
		command       []string
	}{
		"kubernetes/kube-scheduler:" + version: {filepath.Join(binDir(), "kube-scheduler"), "usr/local/bin/kube-scheduler", nil},
		"skynet/t1000:v1":                      {filepath.Join(w.dir, "app"), "app", []string{"/app", "serve"}},
	} {
		folder := filepath.Join(w.dir, "image-"+strings.NewReplacer("/", "-", ":", "-").Replace(image))
		path := filepath.Join(folder, f.path)
		Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		program, err := os.ReadFile(f.program)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.WriteFile(path, program, 0o755)).To(Succeed())
		_, err = w.cluster.PushFolder(ctx, localcluster.Folder{Dir: folder, Command: f.command}, image)
		Expect(err).NotTo(HaveOccurred())
	}
}

// seedPod creates the pod of testdata/selectable-pod.yaml.
func seedPod(ctx context.Context, g Gomega, with ...client.CreateOption) *corev1.Pod {
	return seedPodIn(ctx, g, scheduled, with...)
}

func seedPodIn(ctx context.Context, g Gomega, ns string, with ...client.CreateOption) *corev1.Pod {
	pod := &corev1.Pod{}
	text, err := os.ReadFile(filepath.Join("testdata", "selectable-pod.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(yaml.UnmarshalStrict(text, pod)).To(Succeed())
	pod.Namespace = ns
	g.Expect(lab.client.Create(ctx, pod, with...)).To(Succeed())
	return pod
}

func awaitRunning(ctx context.Context, pod *corev1.Pod) {
	GinkgoHelper()
	eventually(ctx, "the pod "+pod.Name+" runs", soon, func(g Gomega) {
		g.Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
		g.Expect(ready(*pod)).To(BeTrue(), pod.Status.String())
	})
}

// awaitProfile waits until Ready of a SchedulerProfile has a status and a reason.
func (w *world) awaitProfile(ctx context.Context, name, want string) {
	GinkgoHelper()
	eventually(ctx, "the SchedulerProfile is "+want, soon, func(g Gomega) {
		p := &schedulingv1alpha1.SchedulerProfile{}
		g.Expect(w.client.Get(ctx, client.ObjectKey{Name: name}, p)).To(Succeed())
		c := meta.FindStatusCondition(p.Status.Conditions, "Ready")
		g.Expect(c).NotTo(BeNil())
		g.Expect(string(c.Status)+" "+c.Reason).To(Equal(want), c.Message)
	})
}
