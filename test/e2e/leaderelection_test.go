// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	coordinationv1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
)

const (
	// elected is the namespace of the LeaderElection, electedName its name and that of its application.
	elected     = "elected"
	electedName = "ledger"
	// restart is how long a pod is not Ready after its process was killed, at least. It is more than notReadyFor.
	restart     = 3
	notReadyFor = time.Second
	// undisturbed is how long requests are looked at while there is no operator.
	undisturbed = 100
)

// All of it is watched by one witness: which pod has the label, where the Service leads, who answers, what the pods read in files.
var _ = withOperator("LeaderElection", func() {
	w := &witness{}

	It("chooses a leader, and the Service reaches it", func(ctx SpecContext) {
		Expect(lab.client.Create(ctx, namespaceOf(elected))).To(Succeed())
		Expect(lab.client.Create(ctx, threePods())).To(Succeed())
		Expect(lab.client.Create(ctx, ledgerElection())).To(Succeed())
		w.start(ctx)
		eventually(ctx, "the leader answers", soon, func(g Gomega) {
			leads := w.leads()
			g.Expect(leads).NotTo(BeEmpty())
			g.Expect(w.answers()).To(Equal(leads))
		})
		w.awaitCandidates(ctx)
	}, NodeTimeout(2*soon))

	It("hands over by hand", func(ctx SpecContext) {
		w.handOver(ctx, "a hand-over by hand", func(string) { annotate(ctx, "coordination.acme.com/hand-over", "e2e: maintenance") })
	}, NodeTimeout(soon))

	It("follows when the leader's process is killed", func(ctx SpecContext) {
		w.awaitCandidates(ctx)
		w.handOver(ctx, "SIGKILL of the leader's process", func(old string) { signal(ctx, podOf(old), markFile, syscall.SIGKILL) })
	}, NodeTimeout(soon))

	It("follows when the leader's process is stopped, and does not return when it continues", func(ctx SpecContext) {
		w.awaitCandidates(ctx)
		var stopped string
		w.handOver(ctx, "SIGSTOP of the leader's process", func(old string) {
			stopped = old
			signal(ctx, podOf(old), markFile, syscall.SIGSTOP)
		})
		leads := w.leads()
		signal(ctx, podOf(stopped), markFile, syscall.SIGCONT)
		w.awaitCandidates(ctx)
		Expect(w.leads()).To(Equal(leads))
	}, NodeTimeout(soon))

	It("stays on a node that is cordoned, and follows when the leader is evicted", func(ctx SpecContext) {
		nodes := &corev1.NodeList{}
		Expect(lab.client.List(ctx, nodes)).To(Succeed())
		kubectlAsAdmin(ctx, "cordon", nodes.Items[0].Name)
		DeferCleanup(func(ctx context.Context) { kubectlAsAdmin(ctx, "uncordon", nodes.Items[0].Name) })
		before := w.leads()
		w.awaitAnswers(ctx, undisturbed)
		Expect(w.leads()).To(Equal(before))
		w.handOver(ctx, "eviction of the leader", func(old string) {
			pod := podOf(old)
			Expect(lab.client.SubResource("eviction").Create(ctx, pod, &policyv1.Eviction{ObjectMeta: pod.ObjectMeta})).To(Succeed())
		})
	}, NodeTimeout(soon))

	It("keeps the leader while there is no operator, and routes to nobody when that one is gone", func(ctx SpecContext) {
		w.awaitCandidates(ctx)
		before := w.leads()
		scaleOperator(ctx, 0)
		DeferCleanup(scaleOperator, 2)
		lost := w.failures()
		w.awaitAnswers(ctx, undisturbed)
		Expect(w.failures()).To(Equal(lost), "requests that fail while there is no operator")
		Expect(w.leads()).To(Equal(before))
		Expect(lab.client.Delete(ctx, podOf(before), client.GracePeriodSeconds(0))).To(Succeed())
		eventually(ctx, "nobody is routed to", soon, func(g Gomega) { g.Expect(w.routes()).To(BeEmpty()) })
		w.handOver(ctx, "start of the operator after the leader was deleted", func(string) { scaleOperator(ctx, 2) })
	}, NodeTimeout(2*soon))

	It("follows when the leader and the operator's own leader are lost at once", func(ctx SpecContext) {
		w.awaitCandidates(ctx)
		w.handOver(ctx, "loss of the leader and of the operator's leader", func(old string) {
			operator := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: lab.leader(ctx)}}
			signal(ctx, operator, "manager", syscall.SIGKILL) // one that is deleted, even by force, ends well
			Expect(lab.client.Delete(ctx, podOf(old), client.GracePeriodSeconds(0))).To(Succeed())
		})
	}, NodeTimeout(soon))

	It("has told the pods in files", func(ctx SpecContext) {
		w.awaitCandidates(ctx)
		for _, file := range []string{markFile, epochFile} {
			eventually(ctx, file+" is what it should be in all pods", soon, func(g Gomega) { w.expectTold(ctx, g, file) })
			say("%s: %s", file, w.latency(file))
		}
		Expect(w.wrong()).To(BeEmpty())
	}, NodeTimeout(2*soon))

	It("takes the label off when it is deleted", func(ctx SpecContext) {
		Expect(lab.client.Delete(ctx, ledgerElection())).To(Succeed())
		eventually(ctx, "no pod has the label", soon, func(g Gomega) { g.Expect(w.leads()).To(BeEmpty()) })
		w.end()
		Expect(lab.client.Delete(ctx, namespaceOf(elected))).To(Succeed())
	}, NodeTimeout(2*soon))
})

func ledgerElection() *coordinationv1alpha1.LeaderElection {
	return &coordinationv1alpha1.LeaderElection{
		ObjectMeta: metav1.ObjectMeta{Namespace: elected, Name: electedName},
		Spec: coordinationv1alpha1.LeaderElectionSpec{
			PodSelector: map[string]coordinationv1alpha1.LabelValue{"app": electedName},
			Service:     &coordinationv1alpha1.LeaderService{Ports: []coordinationv1alpha1.ServicePort{{Port: 80, TargetPort: 8080}}},
			Discovery:   coordinationv1alpha1.Discovery{ConfigMap: coordinationv1alpha1.Enabled},
			Handover:    coordinationv1alpha1.Handover{NotReadyFor: &metav1.Duration{Duration: notReadyFor}},
		},
	}
}

const (
	markFile  = "/mark/mark"  // the annotation of the pod
	epochFile = "/told/epoch" // of the ConfigMap
)

// threePods are three pods of a program that answers its name.
func threePods() *appsv1.Deployment {
	labels := map[string]string{"app": electedName}
	volume := func(name string, source corev1.VolumeSource) corev1.Volume {
		return corev1.Volume{Name: name, VolumeSource: source}
	}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: elected, Name: electedName},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				TerminationGracePeriodSeconds: new(int64(1)),
				Containers: []corev1.Container{{
					Name: "main", Image: lab.app, Args: []string{"lead", markFile, epochFile},
					ReadinessProbe: &corev1.Probe{
						ProbeHandler:        corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/", Port: intstr.FromInt32(8080)}},
						InitialDelaySeconds: restart, PeriodSeconds: 1, FailureThreshold: 1,
					},
					VolumeMounts: []corev1.VolumeMount{{Name: "mark", MountPath: filepath.Dir(markFile)}, {Name: "told", MountPath: filepath.Dir(epochFile)}},
				}},
				Volumes: []corev1.Volume{
					volume("mark", corev1.VolumeSource{DownwardAPI: &corev1.DownwardAPIVolumeSource{Items: []corev1.DownwardAPIVolumeFile{{
						Path: filepath.Base(markFile), FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.annotations['coordination.acme.com/" + electedName + "']"},
					}}}}),
					volume("told", corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
						LocalObjectReference: corev1.LocalObjectReference{Name: electedName + "-leader"}, Optional: new(true),
					}}),
				},
			}},
		},
	}
}

func podOf(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: elected, Name: name}}
}

func kubectlAsAdmin(ctx context.Context, words ...string) {
	GinkgoHelper()
	out, err := lab.kubectl(ctx, lab.cluster.KubeconfigPath(), words...)
	Expect(err).NotTo(HaveOccurred(), out)
}

func annotate(ctx context.Context, key, value string) {
	GinkgoHelper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, key, value))
	Expect(lab.client.Patch(ctx, ledgerElection(), patch)).To(Succeed())
}

// scaleOperator changes how many operators there are, and waits until that is so when there are to be none. OLM, which would have
// its two back at once, is away meanwhile.
func scaleOperator(ctx context.Context, replicas int) {
	GinkgoHelper()
	scale := func(namespace, name string, replicas int) {
		kubectlAsAdmin(ctx, "scale", "deployment", name, "-n", namespace, "--replicas="+strconv.Itoa(replicas))
	}
	scale("olm", "olm-operator", min(replicas, 1))
	if replicas == 0 {
		awaitNoPods(ctx, "olm", client.MatchingLabels{"app": "olm-operator"})
	}
	scale(systemNamespace, deploymentName, replicas)
	if replicas == 0 {
		awaitNoPods(ctx, systemNamespace, client.MatchingLabels{"control-plane": "controller-manager"})
	}
}

func awaitNoPods(ctx context.Context, namespace string, labels client.MatchingLabels) {
	GinkgoHelper()
	eventually(ctx, "no pod is left in "+namespace, soon, func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(lab.client.List(ctx, pods, client.InNamespace(namespace), labels)).To(Succeed())
		g.Expect(pods.Items).To(BeEmpty())
	})
}

// signal sends a signal to the process of a pod that has a word in its command line. The node's processes are among this machine's.
func signal(ctx context.Context, pod *corev1.Pod, word string, s syscall.Signal) {
	GinkgoHelper()
	Expect(lab.client.Get(ctx, client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	pid, err := processOf(pod, word)
	Expect(err).NotTo(HaveOccurred())
	Expect(syscall.Kill(pid, s)).To(Succeed())
}

// processOf finds a process of a pod by its control group. The word tells it from the one that holds the pod's namespaces.
func processOf(pod *corev1.Pod, word string) (int, error) {
	all, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return 0, err
	}
	for _, file := range all {
		group, _ := os.ReadFile(file) // a process that has ended has none
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if strings.Contains(string(group), string(pod.UID)) && strings.Contains(string(line), word) {
			return strconv.Atoi(filepath.Base(filepath.Dir(file)))
		}
	}
	return 0, fmt.Errorf("the pod %s has no process of %s", pod.Name, word)
}
