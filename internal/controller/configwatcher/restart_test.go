// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A change of content", Ordered, func() {
	var ns string

	BeforeAll(func() { StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("restarts each workload once, and says why without the value", func() {
		cm := Create(configMap(ns, "config", "level", "the-old-value"))
		targets := []client.Object{
			Create(deployment(ns, "a", "web")), Create(statefulSet(ns, "b", "web")), Create(daemonSet(ns, "c", "web")),
		}
		other := Create(deployment(ns, "other", "other"))
		w := watching(watcher(ns, "w", "web"))
		Expect(w.Status.Observed).To(HaveLen(1))
		Expect(w.Status.Restarts).To(BeZero())

		set(cm, "level", "the-new-value")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		for _, o := range targets {
			Expect(marks(o)).To(HaveLen(1))
			Expect(marks(o)).To(HaveKey("autoreboot.acme.com/configwatcher.w"))
			Expect(o.GetGeneration()).To(Equal(int64(2)))
			Eventually(EventsOf(o)).Should(ContainElement("Normal Restarted: ConfigMap/config: level changed (configwatcher w)"))
		}
		Expect(marks(other)).To(BeEmpty())
		Expect(w.Status.History).To(HaveLen(1))
		Expect(w.Status.History[0].Source).To(Equal("ConfigMap/config: level"))
		Expect(w.Status.History[0].Outcome).To(Equal(common.OutcomeRestarted))
		Expect(w.Status.History[0].Message).To(Equal("3 workloads"))
		Expect(w.Status.LastRestart).NotTo(BeNil())
		Expect(fmt.Sprint(w)).NotTo(ContainSubstring("-value"))
		rerun(w)
		Expect(w.Status.Restarts).To(Equal(int64(1)))
		Expect(templates(targets[0])()).To(Equal(int64(2)))
	})

	It("is no change when only metadata changes, or the object is created again with the same content", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		was := w.Status.Observed
		Change(cm, func(o *corev1.ConfigMap) { o.Labels = map[string]string{"new": "label"} })
		rerun(w)
		Remove(cm)
		Eventually(Condition(w, "SourcesFound")).Should(Equal("False SourceMissing"))
		Expect(Message(w, "SourcesFound")).To(ContainSubstring("ConfigMap/config does not exist"))
		Create(configMap(ns, "config", "k", "v"))
		AwaitReady(w)
		Expect(w.Status.Observed).To(Equal(was))
		Expect(templates(d)()).To(Equal(int64(1)))

		By("creating it again with other content")
		Remove(cm)
		Eventually(Condition(w, "SourcesFound")).Should(Equal("False SourceMissing"))
		Create(configMap(ns, "config", "k", "other"))
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	It("takes a source that is created later as it is", func() {
		d := Create(deployment(ns, "d", "web"))
		w := Create(watcher(ns, "w", "web"))
		Eventually(Condition(w, "SourcesFound")).Should(Equal("False SourceMissing"))
		cm := Create(configMap(ns, "config", "k", "v"))
		AwaitReady(w)
		Expect(templates(d)()).To(Equal(int64(1)))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	It("restarts for A to B and for B to A", func() {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		set(cm, "k", "A")
		Eventually(restarts(w)).Should(Equal(int64(2)))
		Expect(templates(d)()).To(Equal(int64(3)))
	})

	It("counts only the keys that are named, and says which does not exist", func() {
		cm := Create(configMap(ns, "config", "a", "1", "b", "1"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) {
			s.ConfigMap = ""
			s.Sources = []v1alpha1.Source{{Kind: v1alpha1.SourceConfigMap, Name: "config", Keys: []string{"a"}}}
		}))
		set(cm, "b", "2")
		rerun(w)
		Expect(w.Status.Restarts).To(BeZero())
		set(cm, "a", "2")
		Eventually(restarts(w)).Should(Equal(int64(1)))

		By("taking the key away and bringing it back")
		Change(cm, func(o *corev1.ConfigMap) { delete(o.Data, "a") })
		Eventually(Condition(w, "SourcesFound")).Should(Equal("False KeyMissing"))
		Expect(Message(w, "SourcesFound")).To(ContainSubstring("ConfigMap/config has no key a"))
		set(cm, "a", "2")
		AwaitReady(w)
		Expect(restarts(w)()).To(Equal(int64(1)))

		By("naming another key")
		Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Sources[0].Keys = []string{"b"} })
		AwaitReady(w)
		Expect(restarts(w)()).To(Equal(int64(1)))
		set(cm, "b", "3")
		Eventually(restarts(w)).Should(Equal(int64(2)))
		Expect(templates(d)()).To(Equal(int64(3)))
	})

	It("counts binary data, immutable objects and Secrets", func() {
		cm := configMap(ns, "config")
		cm.BinaryData, cm.Immutable = map[string][]byte{"b": {0, 1, 0xff}}, new(true)
		Create(cm)
		secret := Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, StringData: map[string]string{"password": "canary-1"}})
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) {
			s.Sources = []v1alpha1.Source{{Kind: v1alpha1.SourceSecret, Name: "s"}}
		}))
		Change(secret, func(o *corev1.Secret) { o.Data["password"] = []byte("canary-2") })
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(w.Status.History[0].Source).To(Equal("Secret/s: password"))
		Remove(cm)
		Eventually(Condition(w, "SourcesFound")).Should(Equal("False SourceMissing"))
		again := configMap(ns, "config")
		again.BinaryData, again.Immutable = map[string][]byte{"b": {0, 1, 0xfe}}, new(true)
		Create(again)
		Eventually(restarts(w)).Should(Equal(int64(2)))
		Expect(templates(d)()).To(Equal(int64(3)))
		Expect(fmt.Sprint(w, d)).NotTo(ContainSubstring("canary"))
	})

	It("restarts nothing when nothing is selected", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		w := watching(watcher(ns, "w", "nobody"))
		set(cm, "k", "w")
		Eventually(func() []common.RestartRecord { Expect(Reload(w)).To(Succeed()); return w.Status.History }).Should(HaveLen(1))
		Expect(w.Status.History[0].Outcome).To(Equal(common.OutcomeNothing))
		Expect(w.Status.Restarts).To(BeZero())
		Expect(w.Status.Pending).To(BeNil())
	})

	It("does not resume a Deployment that is paused, nor undo what others set", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := deployment(ns, "d", "web")
		d.Spec.Paused, d.Spec.Replicas = true, new(int32(3))
		d.Spec.Template.Annotations = map[string]string{"kubectl.kubernetes.io/restartedAt": "earlier"}
		Create(d)
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(marks(d)).To(HaveLen(1))
		Expect(d.Spec.Paused).To(BeTrue())
		Expect(d.Spec.Replicas).To(HaveValue(Equal(int32(3))))
		Expect(d.Spec.Template.Annotations).To(HaveKeyWithValue("kubectl.kubernetes.io/restartedAt", "earlier"))

		By("restarting it by hand")
		Change(d, func(o *appsv1.Deployment) { o.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] = "now" })
		rerun(w)
		Expect(restarts(w)()).To(Equal(int64(1)))
		Expect(d.Spec.Template.Annotations).To(HaveKeyWithValue("kubectl.kubernetes.io/restartedAt", "now"))
	})

	It("is reported as reverted when the mark is taken away, and is not repeated", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(marks(d)).To(HaveLen(1))
		Change(d, func(o *appsv1.Deployment) { o.Spec.Template.Annotations = nil })
		Eventually(Condition(w, "UpToDate")).Should(Equal("False RestartReverted"))
		Expect(Message(w, "UpToDate")).To(ContainSubstring("Deployment/d"))
		generation := d.Generation
		rerun(w)
		Expect(templates(d)()).To(Equal(generation))
		Expect(marks(d)).To(BeEmpty())

		By("changing the content again")
		set(cm, "k", "x")
		Eventually(restarts(w)).Should(Equal(int64(2)))
		AwaitReady(w)
		Expect(marks(d)).To(HaveLen(1))
	})

	It("does not create a workload again that is gone", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		Remove(d)
		set(cm, "k", "w")
		Eventually(func() []common.RestartRecord { Expect(Reload(w)).To(Succeed()); return w.Status.History }).Should(HaveLen(1))
		Expect(client.IgnoreNotFound(Reload(d))).To(Succeed())
		list := &appsv1.DeploymentList{}
		Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		Expect(list.Items).To(BeEmpty())
	})
})

var _ = Describe("Restarts over time", Ordered, func() {
	var (
		ns string
		op *Operator
	)

	BeforeAll(func() { op = StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("are one for ten changes within the debounce", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.Debounce = at(time.Hour) }))
		marks := map[string]bool{}
		for i := range 10 {
			set(cm, "k", fmt.Sprint(i))
			Eventually(func() int {
				Expect(Reload(w)).To(Succeed())
				if p := w.Status.Pending; p != nil {
					Expect(p.Reason).To(Equal("Debounce"))
					marks[p.Mark] = true
				}
				return len(marks)
			}).Should(Equal(i + 1))
		}
		ends(w)
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	It("do not happen when the change is undone within the debounce", func() {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		rolledOut(d)
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.Debounce = at(time.Hour) }))
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(-1)))
		set(cm, "k", "A")
		Eventually(restarts(w)).Should(BeZero())
		Expect(templates(d)()).To(Equal(int64(1)))
	})

	It("are one for two watchers of one workload that fire together", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		debounce := func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.Debounce = at(time.Hour) }
		one, two := watching(watcher(ns, "one", "web", debounce)), watching(watcher(ns, "two", "web", debounce))
		set(cm, "k", "w")
		Eventually(restarts(one)).Should(Equal(int64(-1)))
		Eventually(restarts(two)).Should(Equal(int64(-1)))
		ends(one)
		Eventually(restarts(one)).Should(Equal(int64(1)))
		ends(two)
		Eventually(restarts(two)).Should(Equal(int64(1)))
		Expect(marks(d)).To(HaveLen(2))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	It("are as many as maxPerHour allows, then suspended until more are allowed", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.MaxPerHour = 2 }))
		for i := range 2 {
			set(cm, "k", fmt.Sprint(i))
			Eventually(restarts(w)).Should(Equal(int64(i + 1)))
		}
		set(cm, "k", "more")
		Eventually(Ready(w)).Should(Equal("False Suspended"))
		Expect(w.Status.Pending.Reason).To(Equal("Suspended"))
		Expect(w.Status.Pending.NotBefore).NotTo(BeNil())
		op.Restart()
		rerun(w)
		Expect(templates(d)()).To(Equal(int64(3)))
		Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Restart.MaxPerHour = 3 })
		Eventually(restarts(w)).Should(Equal(int64(3)))
		AwaitReady(w)
	})

	It("are reported and not done in a dry run", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.DryRun = true }))
		set(cm, "k", "w")
		Eventually(func() []common.RestartRecord { Expect(Reload(w)).To(Succeed()); return w.Status.History }).Should(HaveLen(1))
		Expect(w.Status.History[0].Outcome).To(Equal(common.OutcomeDryRun))
		Expect(w.Status.Restarts).To(BeZero())
		Expect(templates(d)()).To(Equal(int64(1)))
		Eventually(EventsOf(w)).Should(ContainElement("Normal WouldRestart: ConfigMap/config: k changed: would restart 1 workload and 0 pods"))
	})

	It("are none when the key of the hashes is lost, and work with the next one", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		was := w.Status.KeyID
		op.Stop()
		Remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: testenv.OperatorNamespace, Name: "platform-operator-restart-key"}})
		op.Start()
		Eventually(func() string { Expect(Reload(w)).To(Succeed()); return w.Status.KeyID }).ShouldNot(Equal(was))
		Eventually(EventsOf(w)).Should(ContainElement(HavePrefix("Warning KeyChanged: ")))
		Expect(restarts(w)()).To(BeZero())
		Expect(templates(d)()).To(Equal(int64(1)))
		set(cm, "k", "w")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	It("wait for those before them to become ready", func() {
		cm := Create(configMap(ns, "config", "k", "v"))
		var all []*appsv1.Deployment
		for _, name := range []string{"a", "b", "c"} {
			all = append(all, Create(deployment(ns, name, "web")))
		}
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.MaxConcurrent = 1 }))
		set(cm, "k", "w")
		for i, d := range all {
			Eventually(func() int { return len(marks(d)) }).Should(Equal(1), d.Name)
			for _, later := range all[i+1:] {
				Expect(marks(later)).To(BeEmpty())
			}
			if i == len(all)-1 {
				break
			}
			Eventually(func() []common.RestartedWorkload { Expect(Reload(w)).To(Succeed()); return w.Status.Workloads }).Should(HaveLen(i + 1))
			Expect(w.Status.Pending.Reason).To(Equal("MaxConcurrent"))
			Expect(Message(w, "UpToDate")).To(HaveSuffix("until those that are rolling are ready: Deployment/" + d.Name))
			if i == 0 {
				op.Restart()
			} else {
				stuck(d)
				rerun(w)
				Expect(Condition(w, "UpToDate")()).To(Equal("False RolloutHeld"), "it would wait for ever")
				Expect(Message(w, "UpToDate")).To(ContainSubstring("Deployment/" + d.Name + ": its rollout has exceeded its progress deadline"))
			}
			rolledOut(d)
		}
		Eventually(restarts(w)).Should(Equal(int64(1)))
	})
})

// ends ends the debounce of a ConfigWatcher, so that no spec depends on how fast it is.
func ends(w *v1alpha1.ConfigWatcher) {
	GinkgoHelper()
	Change(w, func(w *v1alpha1.ConfigWatcher) { w.Spec.Restart.Debounce = at(0) })
}
