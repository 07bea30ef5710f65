// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"bytes"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// ownedPod is a pod of a controller that is no workload that we know.
func ownedPod(ns, name, app string) *corev1.Pod {
	p := pod(ns, name, app)
	p.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "example.com/v1", Kind: "Cluster", Name: "theirs", UID: "0c4d6ba0-0000-4000-8000-000000000000", Controller: new(true),
	}}
	return p
}

// dryRun reports whether an eviction is only tried.
func dryRun(w testenv.Write) bool { return bytes.Contains(w.Body, []byte("All")) }

// away reports whether the very pod that was created is away or going.
func away(p *corev1.Pod) func() bool {
	uid := p.UID
	return func() bool {
		live := &corev1.Pod{}
		err := Admin.Get(ctx, client.ObjectKeyFromObject(p), live)
		return apierrors.IsNotFound(err) || err == nil && (live.UID != uid || live.DeletionTimestamp != nil)
	}
}

// runningPod creates a pod and plays the part of the node that runs it.
func runningPod(p *corev1.Pod) *corev1.Pod {
	GinkgoHelper()
	Eventually(func() error {
		return Admin.Get(ctx, client.ObjectKey{Namespace: p.Namespace, Name: "default"}, &corev1.ServiceAccount{})
	}).Should(Succeed())
	Create(p)
	p.Status.Phase = corev1.PodRunning
	SetPodReady(p, true)
	return p
}

func strategy(s common.RestartStrategy) func(*v1alpha1.ConfigWatcherSpec) {
	return func(spec *v1alpha1.ConfigWatcherSpec) { spec.Restart.Strategy = s }
}

var _ = Describe("Pods", Ordered, func() {
	var (
		ns string
		op *Operator
	)

	BeforeAll(func() { op = StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("of an owner that we do not know are evicted, those without one are left alone", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		owned, bare, other := runningPod(ownedPod(ns, "owned", "web")), runningPod(pod(ns, "bare", "web")), runningPod(ownedPod(ns, "other", "other"))
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(away(owned)()).To(BeTrue())
		Expect(away(bare)()).To(BeFalse())
		Expect(away(other)()).To(BeFalse())
		Expect(w.Status.History[0].Message).To(Equal("0 workloads, 1 pod; 1 pod without a controller left alone"))
		Eventually(EventsOf(owned)).Should(ContainElement(HavePrefix("Normal Restarted: ConfigMap/config: k changed")))
	})

	It("are all deleted with the strategy Delete, and their successors are not", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		one, two := runningPod(pod(ns, "one", "web")), runningPod(ownedPod(ns, "two", "web"))
		w := watching(watcher(ns, "w", "web", strategy(common.RestartDelete)))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(away(one)()).To(BeTrue())
		Expect(away(two)()).To(BeTrue())
		Expect(marks(d)).To(BeEmpty())
		Eventually(func() error { return Admin.Create(ctx, pod(ns, "one", "web")) }).Should(Succeed())
		rerun(w)
		again := &corev1.Pod{}
		Expect(Admin.Get(ctx, client.ObjectKey{Namespace: ns, Name: "one"}, again)).To(Succeed())
		Expect(again.DeletionTimestamp).To(BeNil())
	})

	It("are only removed by their UID, which an eviction tries first", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		runningPod(ownedPod(ns, "evicted", "web"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", strategy(common.RestartEvict)))
		op.Wire.Forget()
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		evictions := op.Wire.Writes(func(x testenv.Write) bool { return x.Path == "namespaces/"+ns+"/pods/evicted/eviction" })
		Expect(evictions).To(HaveLen(2))
		Expect(dryRun(evictions[0])).To(BeTrue())
		Expect(dryRun(evictions[1])).To(BeFalse())

		By("deleting a pod, and marking a Deployment")
		deleted := runningPod(ownedPod(ns, "deleted", "web"))
		Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Restart.Strategy = common.RestartDelete })
		set(cm, "k", "x")
		Eventually(restarts(w)).Should(Equal(int64(2)))
		Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Restart.Strategy = common.RestartRollout })
		set(cm, "k", "y")
		Eventually(restarts(w)).Should(Equal(int64(3)))
		uids := map[string]string{"pods/deleted": string(deleted.UID), "deployments/d": string(d.UID)}
		for path, uid := range uids {
			writes := op.Wire.Writes(func(x testenv.Write) bool { return x.Path == "namespaces/"+ns+"/"+path })
			Expect(writes).NotTo(BeEmpty())
			for _, x := range writes {
				Expect(string(x.Body)).To(ContainSubstring(uid), x.String())
			}
		}
		for _, x := range evictions {
			Expect(string(x.Body)).To(MatchRegexp("[0-9a-f]{8}-[0-9a-f]{4}-"), x.String())
		}
	})

	It("wait with a condition while a PodDisruptionBudget allows none to go", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		p := runningPod(pod(ns, "p", "web"))
		none := intstr.FromInt32(0)
		budget := Create(&policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b"}, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, MaxUnavailable: &none,
		}})
		budget.Status.ObservedGeneration = budget.Generation // by the disruption controller, which does not run
		Expect(Admin.Status().Update(ctx, budget)).To(Succeed())
		w := watching(watcher(ns, "w", "web", strategy(common.RestartEvict)))
		set(cm, "k", "w")
		Eventually(Condition(w, "UpToDate")).Should(Equal("False DisruptionBudget"))
		Expect(w.Status.Pending.Reason).To(Equal("Evicting"))
		Expect(w.Status.Pending.NotBefore).NotTo(BeNil())
		Expect(away(p)()).To(BeFalse())

		By("running again and again meanwhile")
		op.Wire.Forget()
		for range 5 {
			rerun(w)
		}
		Expect(len(op.Wire.Writes(func(x testenv.Write) bool { return x.Path == "namespaces/"+ns+"/pods/p/eviction" }))).To(BeNumerically("<=", 1))
		Remove(budget)
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(away(p)()).To(BeTrue())
		AwaitReady(w)
	})
})

var _ = Describe("A fault", Ordered, func() {
	var (
		ns string
		op *Operator
	)

	BeforeAll(func() {
		op = StartOperator(Configured("configWatcher: {retryMax: 1s}"))
	})
	BeforeEach(func() { ns = Namespace() })

	It("of one workload does not keep the next one from its restart, nor restart any twice", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		var all []*appsv1.Deployment
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, Create(deployment(ns, name, "web")))
		}
		w := watching(watcher(ns, "w", "web"))
		refuse := op.Wire.Inject(testenv.Fault{Match: func(x testenv.Write) bool { return x.Path == "namespaces/"+ns+"/deployments/a" }})
		set(cm, "k", "w")
		Eventually(func() int { return len(marks(all[1])) + len(marks(all[2])) }).Should(Equal(2))
		Eventually(Condition(w, "UpToDate")).Should(Equal("False RestartRefused"))
		Expect(w.Status.History[0].Outcome).To(Equal(common.OutcomeRefused))
		Expect(w.Status.History[0].Message).To(ContainSubstring("refused: Deployment/a"))
		Eventually(refuse.Tripped).Should(BeNumerically(">", 3))
		refuse.Heal()
		Eventually(restarts(w)).Should(Equal(int64(1)))
		for _, d := range all {
			Expect(templates(d)()).To(Equal(int64(2)))
		}
		Expect(w.Status.History).To(HaveLen(1))
		Expect(w.Status.History[0].Outcome).To(Equal(common.OutcomeRestarted))
		Expect(w.Status.History[0].Message).To(Equal("3 workloads"))
	})

	DescribeTable("at any write never restarts a pod twice", func(lost bool) {
		type world struct {
			cm *corev1.ConfigMap
			p  *corev1.Pod
			w  *v1alpha1.ConfigWatcher
			f  *testenv.Injected
		}
		var worlds []world
		for n := range 8 {
			ns := Namespace()
			x := world{cm: Create(configMap(ns, "config", "k", "v")), p: runningPod(ownedPod(ns, "p", "web"))}
			x.w = watching(watcher(ns, "w", "web"))
			if n > 0 {
				x.f = op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { return w.For(ns) }, First: n, Count: 1, Lost: lost})
			}
			worlds = append(worlds, x)
		}
		for _, x := range worlds {
			set(x.cm, "k", "w")
		}
		tripped := 0
		for _, x := range worlds {
			Eventually(restarts(x.w)).Should(Equal(int64(1)))
			Expect(away(x.p)()).To(BeTrue())
			Expect(op.Wire.Writes(func(w testenv.Write) bool {
				return w.Path == "namespaces/"+x.p.Namespace+"/pods/p/eviction" && w.Code/100 == 2 && !dryRun(w)
			})).To(HaveLen(1))
			if x.f != nil {
				tripped += x.f.Tripped()
			}
		}
		Expect(tripped).To(And(BeNumerically(">=", 3), BeNumerically("<", len(worlds)-1)), "each write of the act, and not more, met its fault")
	},
		Entry("when requests do not get through", false),
		Entry("when answers are lost", true),
	)
})

var _ = Describe("What cannot be right", Ordered, func() {
	var ns string

	BeforeAll(func() { StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	DescribeTable("is rejected by name", func(namespace string) {
		name := "refused-" + fmt.Sprint(time.Now().UnixNano())
		w := Create(watcher(namespace, name, "web"))
		DeferCleanup(func() { Remove(w) })
		Eventually(Condition(w, "Admitted")).Should(Equal("False ProtectedNamespace"))
		Expect(Ready(w)()).To(Equal("False ProtectedNamespace"))
		Expect(Message(w, "Admitted")).To(ContainSubstring(namespace))
		Expect(w.Status.Observed).To(BeEmpty())
	},
		Entry("in kube-system", "kube-system"),
		Entry("in the operator's own namespace", testenv.OperatorNamespace),
	)

	It("is a window that never opens", func() {
		w := Create(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) {
			s.Restart.Windows = []common.RestartWindow{{Schedule: "0 0 30 2 *", Duration: *at(time.Hour)}}
		}))
		Eventually(Ready(w)).Should(Equal("False WindowNeverOpens"))
		Expect(Message(w, "Admitted")).To(ContainSubstring("restart.windows[0]"))
		Create(configMap(ns, "config", "k", "v"))
		Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Restart.Windows[0].Schedule = "0 0 29 2 *" })
		AwaitReady(w)
	})

	It("is a window without a schedule or in no time zone", func() {
		w := Create(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) {
			s.Restart.Windows = []common.RestartWindow{{Schedule: "always", Duration: *at(time.Hour)}}
		}))
		Eventually(Ready(w)).Should(Equal("False InvalidWindow"))
		Change(w, func(w *v1alpha1.ConfigWatcher) {
			w.Spec.Restart.Windows[0].Schedule, w.Spec.Restart.Windows[0].TimeZone = "0 0 * * *", "Mars/Olympus"
		})
		Eventually(Ready(w)).Should(Equal("False InvalidWindow"))
		Expect(Message(w, "Admitted")).To(ContainSubstring("Mars/Olympus"))
	})

	It("is a restart outside of the window: it waits, and says until when", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		far := time.Now().UTC().Add(12 * time.Hour)
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) {
			s.Restart.Windows = []common.RestartWindow{{Schedule: fmt.Sprintf("0 %d * * *", far.Hour()), Duration: *at(time.Minute)}}
		}))
		set(cm, "k", "w")
		Eventually(func() string { Expect(Reload(w)).To(Succeed()); return fmt.Sprint(w.Status.Pending) }).Should(ContainSubstring("OutsideWindow"))
		Expect(w.Status.Pending.NotBefore.UTC().Hour()).To(Equal(far.Hour()))
		Expect(Ready(w)()).To(Equal("True Ready"))
		Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Restart.Windows = nil })
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(2)))
	})
})
