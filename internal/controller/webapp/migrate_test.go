// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A migration", Ordered, func() {
	BeforeAll(func() { StartOperator() })
	migrating := func() *v1alpha1.WebApp {
		return Create(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.Migration = &v1alpha1.Migration{Command: []string{"migrate"}} }))
	}
	// jobs are the images of the migrations that there are.
	jobs := func(a *v1alpha1.WebApp) func() []string {
		return func() []string {
			list := &batchv1.JobList{}
			Expect(Admin.List(ctx, list, client.InNamespace(a.Namespace))).To(Succeed())
			all := []string{}
			for _, j := range list.Items {
				if j.DeletionTimestamp.IsZero() {
					all = append(all, j.Spec.Template.Spec.Containers[0].Image)
				}
			}
			return all
		}
	}
	end := func(a *v1alpha1.WebApp, image string, success bool) {
		GinkgoHelper()
		list := &batchv1.JobList{}
		Expect(Admin.List(ctx, list, client.InNamespace(a.Namespace))).To(Succeed())
		for _, j := range list.Items {
			if j.Spec.Template.Spec.Containers[0].Image != image {
				continue
			}
			j.Status.StartTime = &j.CreationTimestamp
			conditions := []batchv1.JobConditionType{batchv1.JobFailureTarget, batchv1.JobFailed}
			if success {
				conditions = []batchv1.JobConditionType{batchv1.JobSuccessCriteriaMet, batchv1.JobComplete}
				j.Status.CompletionTime = new(metav1.Now())
			} else {
				p := Create(&corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: j.Name + "-x", Labels: map[string]string{batchv1.JobNameLabel: j.Name}},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "migrate", Image: image}}},
				})
				p.Status.Phase = corev1.PodFailed
				p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "migrate", State: corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{ExitCode: 4, Message: "no column price"},
				}}}
				Expect(Admin.Status().Update(ctx, p)).To(Succeed())
			}
			for _, c := range conditions {
				j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: c, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()})
			}
			Expect(Admin.Status().Update(ctx, &j)).To(Succeed())
			return
		}
		Fail("there is no migration of " + image)
	}
	const v1, v2, v3 = "registry.acme.com/app/app:v1", "registry.acme.com/app/app:v2", "registry.acme.com/app/app:v3"
	image := func(to string) func(*v1alpha1.WebApp) { return func(a *v1alpha1.WebApp) { a.Spec.WebAppImage = to } }
	deployed := func(a *v1alpha1.WebApp) func() string {
		d := deploymentOf(a)
		return func() string {
			if Reload(d) != nil {
				return "none"
			}
			return d.Spec.Template.Spec.Containers[0].Image
		}
	}
	// migrated is a WebApp that serves v1.
	migrated := func() *v1alpha1.WebApp {
		GinkgoHelper()
		a := migrating()
		Eventually(jobs(a)).Should(Equal([]string{v1}))
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Expect(deployed(a)()).To(Equal("none"))
		end(a, v1, true)
		Eventually(deployed(a)).Should(Equal(v1))
		roll(a)
		address(a)
		return AwaitReady(a)
	}

	It("comes before any pod of the new version", func() {
		a := migrated()
		Change(a, image(v2))
		Eventually(jobs(a)).Should(ContainElement(v2))
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Consistently(deployed(a)).Should(Equal(v1))
		end(a, v2, true)
		Eventually(deployed(a)).Should(Equal(v2))
		roll(a)
		AwaitReady(a)
		Expect(jobs(a)()).To(Equal([]string{v2}))

		By("being asked for no more")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.Migration = nil })
		AwaitReady(a)
		Expect(jobs(a)()).To(BeEmpty())
	})

	It("leaves the version of before serving when it fails, says why, and is not tried again", func() {
		a := migrated()
		Change(a, image(v2))
		Eventually(jobs(a)).Should(ContainElement(v2))
		end(a, v2, false)
		Eventually(Ready(a)).Should(Equal("False MigrationFailed"))
		Expect(Message(a, "Migrated")).To(ContainSubstring("exit code 4: no column price"))
		Expect(a.Status.Image).To(Equal(v1))
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "moved-" + a.Spec.WebAppHostname })
		Eventually(Ready(a)).Should(Equal("False MigrationFailed"))
		Poke(a)
		Consistently(jobs(a)).Should(Equal([]string{v2}))
		Expect(deployed(a)()).To(Equal(v1))
		Change(a, image(v3))
		Eventually(jobs(a)).Should(Equal([]string{v3}))
		end(a, v3, true)
		Eventually(deployed(a)).Should(Equal(v3))
	})

	It("runs for the version that serves already, when it is asked for later, and touches no pod", func() {
		a := serving(webApp(Namespace()))
		generation := live(deploymentOf(a)).Generation
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.Migration = &v1alpha1.Migration{Command: []string{"migrate"}} })
		Eventually(jobs(a)).Should(Equal([]string{v1}))
		end(a, v1, true)
		AwaitReady(a)
		Expect(a.Status.Migrated).NotTo(BeEmpty())
		Expect(live(deploymentOf(a)).Generation).To(Equal(generation))
	})

	It("does not run again for a version that it has succeeded for", func() {
		a := migrated()
		Change(a, image(v2))
		Eventually(jobs(a)).Should(ContainElement(v2))
		end(a, v2, true)
		Eventually(deployed(a)).Should(Equal(v2))
		roll(a)
		AwaitReady(a)
		last := a.Status.Migrated

		By("the spec going back")
		Change(a, image(v1))
		Eventually(deployed(a)).Should(Equal(v1))
		roll(a)
		AwaitReady(a)
		Expect(Message(a, "Migrated")).To(Equal("the migration to " + v1 + " has succeeded earlier, for revision 1, and does not run again; " +
			"what later migrations have changed is not undone"))
		Expect(a.Status.Migrated).To(Equal(last))
		Expect(jobs(a)()).To(BeEmpty())

		By("rollbackTo naming what the spec says")
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.Migration.Args, a.Spec.RollbackTo = []string{"other"}, new(int64(1))
		})
		Eventually(Ready(a)).Should(Equal("True RolledBack"))
		Expect(Message(a, "Migrated")).To(ContainSubstring("no migration runs for that"))
		Expect(Message(a, "Deployed")).To(Equal("revision 1 serves, as spec.rollbackTo asks; the spec says the same of pods, so that spec.rollbackTo can be removed"))
		Consistently(jobs(a), "500ms").Should(BeEmpty())

		By("the next version, which goes back while its migration runs")
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppImage, a.Spec.Migration.Args, a.Spec.RollbackTo = v3, nil, nil
		})
		Eventually(jobs(a)).Should(Equal([]string{v3}))
		Change(a, image(v2))
		AwaitRun(a)
		Expect(deployed(a)()).To(Equal(v1))
		end(a, v3, true)
		Eventually(deployed(a)).Should(Equal(v2))
		roll(a)
		AwaitReady(a)
		Expect(Message(a, "Migrated")).To(Equal("the migration of the present version has succeeded"), "it is the last one that has")
		Expect(jobs(a)()).To(BeEmpty())
	})

	It("runs one migration at a time", func() {
		a := migrated()
		Change(a, image(v2))
		Eventually(jobs(a)).Should(ContainElement(v2))
		Change(a, image(v3))
		AwaitRun(a)
		Consistently(jobs(a)).ShouldNot(ContainElement(v3))
		Expect(Message(a, "Migrated")).To(ContainSubstring(`If it can never end, "kubectl delete job `))
		Expect(deployed(a)()).To(Equal(v1))
		end(a, v2, true)
		Eventually(jobs(a)).Should(Equal([]string{v3}))
		Expect(deployed(a)()).To(Equal(v1))
		end(a, v3, true)
		Eventually(deployed(a)).Should(Equal(v3))
	})

	It("waits for what still runs of one that was deleted", func() {
		a := migrated()
		Change(a, image(v2))
		Eventually(jobs(a)).Should(ContainElement(v2))
		p := Create(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: "late", Labels: map[string]string{"workloads.apps.acme.com/migration": a.Name}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "migrate", Image: v2}}},
		})
		Expect(Admin.DeleteAllOf(ctx, &batchv1.Job{}, client.InNamespace(a.Namespace), client.PropagationPolicy(metav1.DeletePropagationBackground))).To(Succeed())
		Change(a, image(v3))
		Eventually(func() string { _ = Reload(a); return Message(a, "Migrated") }).Should(ContainSubstring("the migration to " + v3 + " waits for the pod late"))
		Expect(Ready(a)()).To(Equal("False Migrating"))
		Poke(a)
		Consistently(jobs(a), "500ms").Should(BeEmpty())
		p.Status.Phase = corev1.PodFailed
		Expect(Admin.Status().Update(ctx, p)).To(Succeed())
		Poke(a)
		Eventually(jobs(a)).Should(Equal([]string{v3}))
	})
})
