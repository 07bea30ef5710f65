// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// stuck does what the controller of Deployments would when one new pod does not become ready.
func stuck(a *v1alpha1.WebApp, image, pod string) {
	GinkgoHelper()
	Eventually(deployedImage(a)).Should(Equal(image))
	d := deploymentOf(a)
	Eventually(func(g Gomega) {
		g.Expect(Reload(d)).To(Succeed())
		n := *d.Spec.Replicas
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n + 1, UpdatedReplicas: 1, ReadyReplicas: n, AvailableReplicas: n}
		g.Expect(Admin.Status().Update(ctx, d)).To(Succeed())
	}).Should(Succeed())
	if pod != "" {
		badPod(a, pod, corev1.ContainerStatus{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 3, Message: "no luck"}},
		})
	}
}

// succeed does what the controller of Jobs would when the only migration of a namespace ends well.
func succeed(a *v1alpha1.WebApp) {
	GinkgoHelper()
	list := &batchv1.JobList{}
	Expect(Admin.List(ctx, list, client.InNamespace(a.Namespace))).To(Succeed())
	Expect(list.Items).To(HaveLen(1))
	j := &list.Items[0]
	j.Status.StartTime, j.Status.CompletionTime = &j.CreationTimestamp, new(metav1.Now())
	for _, c := range []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete} {
		j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
	}
	Expect(Admin.Status().Update(ctx, j)).To(Succeed())
}

// deadline gives a rollout five minutes.
func deadline(auto bool) func(*v1alpha1.WebAppSpec) {
	return func(s *v1alpha1.WebAppSpec) {
		s.RolloutDeadline, s.AutoRollback = &metav1.Duration{Duration: 5 * time.Minute}, auto
	}
}

// begun waits until the deadline of a revision counts.
func begun(a *v1alpha1.WebApp, revision int64) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(Reload(a)).To(Succeed())
		g.Expect(a.Status.Revision).To(Equal(revision))
		g.Expect(a.Status.Rollout).NotTo(BeNil())
		g.Expect(a.Status.Rollout.StartedAt).NotTo(BeNil())
	}).Should(Succeed())
}

var _ = Describe("A rollout", Ordered, ContinueOnFailure, func() {
	var (
		op  *Operator
		now *clocktesting.FakePassiveClock
	)
	BeforeAll(func() {
		now = clocktesting.NewFakePassiveClock(time.Now())
		op = StartOperator(func(o *operator.Options) { o.Clock = now })
	})
	pass := func(a *v1alpha1.WebApp, d time.Duration) {
		GinkgoHelper()
		now.SetTime(now.Now().Add(d))
		Poke(a)
	}
	const why = "revision 2 (registry.acme.com/app/app:v2) was not complete after 5m0s: the container app of the pod web-bad ends again and again, last with the exit code 3: no luck"

	It("that is late says which pod fails, and continues", func() {
		a := serving(webApp(Namespace(), deadline(false)))
		version(a, 2)
		stuck(a, imageOf(2), "web-bad")
		begun(a, 2)
		pass(a, 4*time.Minute)
		Eventually(Ready(a)).Should(Equal("False CrashLoop"))
		pass(a, 2*time.Minute)
		Eventually(Ready(a)).Should(Equal("False RolloutFailed"))
		Expect(Message(a, "Deployed")).To(Equal(why + ". Change the spec, or set spec.rollbackTo to 1, the revision that has served last"))
		Expect([]any{a.Status.Revision, a.Status.ServingRevision, a.Status.Image}).To(Equal([]any{int64(2), int64(1), imageOf(1)}))
		Expect(deployedImage(a)()).To(Equal(imageOf(2)))
		roll(a)
		AwaitReady(a)
		Expect(a.Status.ServingRevision).To(Equal(int64(2)))
	})

	It("that is late is rolled back once, without a write to the spec", func() {
		a := serving(webApp(Namespace(), deadline(true)))
		d := deploymentOf(a)
		uid := uidOf(d)
		version(a, 2)
		generation := a.Generation
		stuck(a, imageOf(2), "web-bad")
		begun(a, 2)
		op.Restart()
		pass(a, 6*time.Minute)
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))
		Eventually(Ready(a)).Should(Equal("False RolledBack"))
		roll(a)
		Eventually(func() string { _ = Reload(a); return Message(a, "Deployed") }).Should(Equal(why + ". Revision 1 serves. Change the spec to try again"))
		Eventually(Condition(a, "Stalled")).Should(Equal("True RolledBack"))
		Expect([]any{a.Generation, a.Spec.WebAppImage, a.Status.RolledBack.Revision, a.Status.RolledBack.To}).To(Equal([]any{generation, imageOf(2), int64(2), int64(1)}))
		Eventually(EventsOf(a)).Should(ContainElement(HavePrefix("Warning RolledBack: ")))
		Expect(uidOf(d)).To(Equal(uid))

		By("a restart of the operator, time, and a change that is not about pods")
		op.Wire.Forget()
		op.Restart()
		pass(a, time.Hour)
		Consistently(func() []testenv.Write {
			return op.Wire.Writes(func(w testenv.Write) bool { return w.For(a.Namespace) })
		}, "1s").Should(BeEmpty())
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppReplicas = new(int32(2)) })
		Eventually(Ready(a)).Should(Equal("False RolledBack"))
		Expect(deployedImage(a)()).To(Equal(imageOf(1)))

		By("a new version in the middle of it, which fails as well")
		version(a, 3)
		stuck(a, imageOf(3), "")
		begun(a, 3)
		Expect(a.Status.RolledBack).To(BeNil())
		pass(a, 6*time.Minute)
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))

		By("the revision that has served failing, too")
		stuck(a, imageOf(1), "")
		begun(a, 1)
		pass(a, 6*time.Minute)
		Eventually(func() string { _ = Reload(a); return Message(a, "Deployed") }).Should(ContainSubstring("Revision 1 does not serve either"))
		pass(a, time.Hour)
		Consistently(deployedImage(a), "500ms").Should(Equal(imageOf(1)))

		By("the same version being asked for once more")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.AutoRollback = false })
		Eventually(deployedImage(a)).Should(Equal(imageOf(3)))
		roll(a)
		AwaitReady(a)
		Expect([]any{a.Status.Revision, a.Status.ServingRevision, a.Status.RolledBack == nil}).To(Equal([]any{int64(3), int64(3), true}))
	})

	It("that becomes complete while a newer version is held back is the one to go back to", func() {
		a := serving(webApp(Namespace(), deadline(true)))
		version(a, 2)
		stuck(a, imageOf(2), "")
		begun(a, 2)
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppImage, a.Spec.Migration = imageOf(3), &v1alpha1.Migration{Command: []string{"migrate"}}
		})
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Expect(a.Status.Pods).To(Equal("2/2"))
		roll(a)
		Eventually(func() []any {
			_ = Reload(a)
			return []any{a.Status.Revision, a.Status.ServingRevision, a.Status.Image, a.Status.Replicas}
		}).Should(Equal([]any{int64(2), int64(2), imageOf(2), int32(2)}))
		succeed(a)
		stuck(a, imageOf(3), "")
		begun(a, 3)
		pass(a, 6*time.Minute)
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))
		Eventually(func() *v1alpha1.RolledBack { _ = Reload(a); return a.Status.RolledBack }).Should(HaveField("To", int64(2)))
	})

	It("does not count as long as its database is missing", func() {
		ns := Namespace()
		s := Create(databaseSecret(ns, password))
		a := serving(webApp(ns, deadline(true), func(s *v1alpha1.WebAppSpec) {
			s.DatabaseSecretRef = &v1alpha1.DatabaseSecretReference{Name: "db"}
		}))
		version(a, 2)
		stuck(a, imageOf(2), "")
		begun(a, 2)
		Remove(s)
		Eventually(Ready(a)).Should(Equal("False WaitingForDatabase"))
		pass(a, time.Hour)
		Create(databaseSecret(ns, password))
		begun(a, 2)
		pass(a, 4*time.Minute)
		Consistently(deployedImage(a), "500ms").Should(Equal(imageOf(2)))
		Expect(live(a).Status.RolledBack).To(BeNil())
		pass(a, 2*time.Minute)
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))
	})

	It("of the first revision has nothing to go back to", func() {
		a := Create(webApp(Namespace(), deadline(true)))
		stuck(a, imageOf(1), "")
		begun(a, 1)
		pass(a, 6*time.Minute)
		Eventually(Ready(a)).Should(Equal("False RolloutFailed"))
		Expect(Message(a, "Deployed")).To(ContainSubstring("No revision has served before"))
		Expect(deployedImage(a)()).To(Equal(imageOf(1)))
	})

	It("does not count as long as the Deployment is paused or has no pods", func() {
		a := Create(webApp(Namespace(), deadline(true), func(s *v1alpha1.WebAppSpec) { s.WebAppReplicas = new(int32(0)) }))
		roll(a)
		address(a)
		Eventually(Ready(a)).Should(Equal("True ScaledToZero"))
		Expect(a.Status.ServingRevision).To(BeZero(), "no pod has shown that it works")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppReplicas = new(int32(2)) })
		roll(a)
		AwaitReady(a)
		Expect(a.Status.ServingRevision).To(Equal(int64(1)))
		version(a, 2)
		stuck(a, imageOf(2), "")
		begun(a, 2)
		Patch(deploymentOf(a), `{"spec":{"paused":true}}`, client.FieldOwner("kubectl"))
		stuck(a, imageOf(2), "")
		Poke(a)
		Eventually(Ready(a)).Should(Equal("False DeploymentPaused"))
		pass(a, time.Hour)
		Consistently(deployedImage(a), "500ms").Should(Equal(imageOf(2)))
		Expect(Ready(a)()).To(Equal("False DeploymentPaused"))
	})

	It("is not rolled back to a revision of which there is no record", func() {
		a := serving(webApp(Namespace(), deadline(true)))
		version(a, 2)
		stuck(a, imageOf(2), "web-bad")
		begun(a, 2)
		first := records(a.Namespace)[1]
		Remove(&first)
		pass(a, 6*time.Minute)
		Eventually(Ready(a)).Should(Equal("False RolloutFailed"))
		Expect(Message(a, "Deployed")).To(ContainSubstring("there is no record of revision 1"))
		Expect(deployedImage(a)()).To(Equal(imageOf(2)))
	})
})
