// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher_test

import (
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// statusOf selects the writes of a ConfigWatcher's status.
func statusOf(w client.Object) func(testenv.Write) bool {
	path := "namespaces/" + w.GetNamespace() + "/configwatchers/" + w.GetName() + "/status"
	return func(x testenv.Write) bool { return x.Path == path }
}

// saysSettled reports whether a write of a status says that no restart is pending any more.
func saysSettled(w client.Object) func(testenv.Write) bool {
	of := statusOf(w)
	return func(x testenv.Write) bool { return of(x) && strings.Contains(string(x.Body), `"pending":null`) }
}

var _ = Describe("A restart that cannot be written down", Ordered, func() {
	var (
		ns string
		op *Operator
	)
	slowly := func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.Debounce = at(time.Hour) }

	BeforeAll(func() { op = StartOperator(Configured("configWatcher: {retryMax: 1s}")) })
	BeforeEach(func() { ns = Namespace() })

	It("does not begin before its start is recorded", func() {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		fault := op.Wire.Inject(testenv.Fault{Match: statusOf(w)})
		set(cm, "k", "B")
		Eventually(fault.Tripped).Should(BeNumerically(">", 2))
		Expect(templates(d)()).To(Equal(int64(1)))
		set(cm, "k", "A")
		was := fault.Tripped()
		Consistently(func() int64 { return templates(d)() }).Should(Equal(int64(1)))
		Expect(fault.Tripped()).To(BeNumerically("<=", was+1), "nothing is to be written any more")
		fault.Heal()
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	DescribeTable("is followed by another one when the content is then as it was", func(recorded int64, with ...func(*v1alpha1.ConfigWatcherSpec)) {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web", with...))
		fault := op.Wire.Inject(testenv.Fault{Match: saysSettled(w)})
		set(cm, "k", "B")
		if len(with) > 0 {
			Eventually(restarts(w)).Should(Equal(int64(-1)))
			ends(w)
		}
		Eventually(templates(d)).Should(Equal(int64(2)))
		op.Stop()
		fault.Heal()
		set(cm, "k", "A")
		op.Start()
		Eventually(restarts(w)).Should(Equal(recorded))
		Expect(templates(d)()).To(Equal(int64(3)))
		Eventually(Ready(w)).Should(Equal("True Ready"))
		Poke(w)
		Expect(templates(d)()).To(Equal(int64(3)))
	},
		Entry("without a debounce", int64(2)),
		Entry("with a debounce: the generation tells that it had begun, and the status does not", int64(1), slowly),
	)

	DescribeTable("counts what changed and changed back while the operator was away", func(settled bool) {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		match := saysSettled(w)
		if settled {
			match = func(testenv.Write) bool { return false }
		}
		fault := op.Wire.Inject(testenv.Fault{Match: match})
		set(cm, "k", "B")
		Eventually(templates(d)).Should(Equal(int64(2)))
		if settled {
			Eventually(restarts(w)).Should(Equal(int64(1)))
		}
		op.Stop()
		fault.Heal()
		written := cm.ManagedFields[0].Time.Time
		Eventually(func() bool { // of the time of a write, whole seconds are known
			set(cm, "k", "A") // and a pod starts
			set(cm, "k", "B")
			return cm.ManagedFields[0].Time.After(written)
		}).Should(BeTrue())
		op.Start()
		Eventually(restarts(w)).Should(Equal(int64(2)))
		Expect(templates(d)()).To(Equal(int64(3)))
		rerun(w)
		op.Restart()
		rerun(w)
		Expect(templates(d)()).To(Equal(int64(3)))
	},
		Entry("during the restart", false),
		Entry("while the workload rolls for the restart", true),
	)

	It("does not count labels", func() {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		op.Stop()
		label(cm)
		op.Start()
		rerun(w)
		Expect(restarts(w)()).To(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(2)))
	})

	It("is not dropped when another watcher has restarted the workload meanwhile", func() {
		cm, other := Create(configMap(ns, "config", "k", "A")), Create(configMap(ns, "other", "k", "v"))
		d := Create(deployment(ns, "d", "web"))
		one := watching(watcher(ns, "one", "web", slowly))
		two := watching(watcher(ns, "two", "web", slowly, func(s *v1alpha1.ConfigWatcherSpec) { s.ConfigMap = "other" }))
		set(cm, "k", "B")
		set(other, "k", "w")
		Eventually(restarts(one)).Should(Equal(int64(-1)))
		Eventually(restarts(two)).Should(Equal(int64(-1)))
		ends(two)
		Eventually(restarts(two)).Should(Equal(int64(1)))
		Expect(marks(d)).To(HaveLen(2))
		set(cm, "k", "A")
		Eventually(func() *common.PendingRestart { Expect(Reload(one)).To(Succeed()); return one.Status.Pending }).Should(
			HaveValue(HaveField("Number", int64(2))))
		ends(one)
		Eventually(restarts(one)).Should(Equal(int64(1)))
		Expect(templates(d)()).To(Equal(int64(3)))
	})
})

// What was found with version 0.1.0: a workload that carried an equal, older mark counted as restarted.
var _ = Describe("A mark from before", Ordered, func() {
	var ns string

	BeforeAll(func() { StartOperator() })
	BeforeEach(func() { ns = Namespace() })

	It("of a ConfigWatcher of the same name and the same content stands for nothing", func() {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		for i := range 2 {
			set(cm, "k", "A")
			w := watching(watcher(ns, "w", "web"))
			set(cm, "k", "B")
			Eventually(restarts(w)).Should(Equal(int64(1)))
			Expect(templates(d)()).To(Equal(int64(i + 2)))
			Remove(w)
		}
	})

	It("that a rollback brings back stands for nothing, and is no revert for ever", func() {
		cm := Create(configMap(ns, "config", "k", "A"))
		d := Create(deployment(ns, "d", "web"))
		w := watching(watcher(ns, "w", "web"))
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(1)))
		old := marks(d)
		set(cm, "k", "A")
		Eventually(restarts(w)).Should(Equal(int64(2)))
		Change(d, func(o *appsv1.Deployment) { o.Spec.Template.Annotations = old })
		Eventually(Condition(w, "UpToDate")).Should(Equal("False RestartReverted"))
		set(cm, "k", "B")
		Eventually(restarts(w)).Should(Equal(int64(3)))
		Expect(marks(d)).NotTo(Equal(old))
		AwaitReady(w)
	})
})

var _ = Describe("A Deployment that rolls for another reason after the content changed", func() {
	It("is not restarted again, and one that did not roll is", func() {
		StartOperator()
		ns := Namespace()
		cm := Create(configMap(ns, "config", "k", "A"))
		rolled, scaled := Create(deployment(ns, "rolled", "web")), Create(deployment(ns, "scaled", "web"))
		rolledOut(rolled)
		rolledOut(scaled)
		w := watching(watcher(ns, "w", "web", func(s *v1alpha1.ConfigWatcherSpec) { s.Restart.Debounce = at(time.Hour) }))
		set(cm, "k", "B")
		Eventually(func() []common.WorkloadTemplate {
			Expect(Reload(w)).To(Succeed())
			if w.Status.Pending == nil {
				return nil
			}
			return w.Status.Pending.Templates
		}).Should(HaveLen(2))
		Change(rolled, func(o *appsv1.Deployment) { o.Spec.Template.Spec.Containers[0].Image = "example.com/app:2" })
		rolledOut(rolled)
		Change(scaled, func(o *appsv1.Deployment) { o.Spec.Replicas = new(int32(3)) })
		ends(w)
		Eventually(restarts(w)).Should(Equal(int64(1)))
		Expect(marks(rolled)).To(BeEmpty())
		Expect(marks(scaled)).To(HaveLen(1))
		Expect(w.Status.History[0].Message).To(Equal("1 workload; 1 had rolled since the change"))
	})
})
