// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp_test

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// imageOf is the image of a version.
func imageOf(version int) string { return fmt.Sprintf("registry.acme.com/app/app:v%d", version) }

// version changes the image of a WebApp.
func version(a *v1alpha1.WebApp, n int) {
	GinkgoHelper()
	Change(a, func(a *v1alpha1.WebApp) { a.Spec.WebAppImage = imageOf(n) })
}

// deployedImage gives a function that reads the image that the Deployment has.
func deployedImage(a *v1alpha1.WebApp) func() string {
	d := deploymentOf(a)
	return func() string {
		if err := Reload(d); err != nil {
			return err.Error()
		}
		return d.Spec.Template.Spec.Containers[0].Image
	}
}

// records are the ControllerRevisions of a namespace, by their numbers.
func records(ns string) map[int64]appsv1.ControllerRevision {
	GinkgoHelper()
	list := &appsv1.ControllerRevisionList{}
	Expect(Admin.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	all := map[int64]appsv1.ControllerRevision{}
	for _, c := range list.Items {
		all[c.Revision] = c
	}
	return all
}

// numbers are the revisions of a WebApp, the latest first.
func numbers(a *v1alpha1.WebApp) (all []int64) {
	for _, r := range a.Status.Revisions {
		all = append(all, r.Number)
	}
	return all
}

// revised rolls a version out, all of whose pods serve.
func revised(a *v1alpha1.WebApp, n int) {
	GinkgoHelper()
	version(a, n)
	Eventually(deployedImage(a)).Should(Equal(imageOf(n)))
	roll(a)
	AwaitReady(a)
}

func rollbackTo(a *v1alpha1.WebApp, to *int64) {
	GinkgoHelper()
	Change(a, func(a *v1alpha1.WebApp) { a.Spec.RollbackTo = to })
}

var _ = Describe("Revisions", Ordered, ContinueOnFailure, func() {
	var op *Operator
	BeforeAll(func() { op = StartOperator() })

	It("are numbered by what makes the pods, and the ten last used are kept", func() {
		a := serving(webApp(Namespace()))
		Expect([]any{a.Status.Revision, a.Status.ServingRevision, numbers(a)}).To(Equal([]any{int64(1), int64(1), []int64{1}}))
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppHostname, a.Spec.WebAppReplicas = "moved-"+a.Spec.WebAppHostname, new(int32(3))
		})
		roll(a)
		AwaitReady(a)
		Expect(numbers(a)).To(Equal([]int64{1}), "the pods are the same")
		revised(a, 2)
		revised(a, 1)
		Expect([]any{a.Status.Revision, numbers(a)}).To(Equal([]any{int64(1), []int64{1, 2}}), "what is known keeps its number")
		for n := range 10 {
			revised(a, n+3)
		}
		Expect([]any{a.Status.Revision, numbers(a)}).To(Equal([]any{int64(12), []int64{12, 11, 10, 9, 8, 7, 6, 5, 4, 3}}))
		Eventually(func() map[int64]appsv1.ControllerRevision { return records(a.Namespace) }).Should(And(HaveLen(10), Not(HaveKey(int64(1))), HaveKey(int64(3))))
		revised(a, 1)
		Expect(a.Status.Revision).To(Equal(int64(13)), "no number is given twice")

		By("being changed or deleted")
		is := records(a.Namespace)[13]
		Expect(metav1.GetControllerOf(&is).UID).To(Equal(a.UID))
		Patch(&is, `{"revision":99,"metadata":{"labels":null}}`)
		Eventually(func() int64 { _ = Reload(&is); return is.Revision }).Should(Equal(int64(13)))
		Remove(&is)
		Eventually(func() map[int64]appsv1.ControllerRevision { return records(a.Namespace) }).Should(HaveKey(int64(13)))
	})

	It("of somebody else are left alone, and copies are not believed", func() {
		ns := Namespace()
		theirs := Create(&appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web-revision-0123456789"}, Revision: 7, Data: runtime.RawExtension{Raw: []byte(`{"a":1}`)}})
		a := serving(webApp(ns))
		revised(a, 2)
		first := records(ns)[1]
		Remove(&first)
		forged := first.DeepCopy()
		forged.ResourceVersion, forged.UID = "", ""
		forged.Data.Raw = []byte(strings.Replace(string(first.Data.Raw), imageOf(1), "evil", 1))
		Expect(string(forged.Data.Raw)).To(ContainSubstring("evil"))
		Create(forged)
		rollbackTo(a, new(int64(1)))
		Eventually(Ready(a)).Should(Equal("False RevisionUnknown"))
		Expect(deployedImage(a)()).To(Equal(imageOf(2)))
		rollbackTo(a, new(int64(7)))
		Eventually(Ready(a)).Should(Equal("False RevisionUnknown"))
		Expect(Message(a, "Composed")).To(Equal(fmt.Sprintf("there is no record of revision 7, so that nothing is changed. Remove spec.rollbackTo, or choose one of 2 (%s), 1 (%s)", imageOf(2), imageOf(1))))
		rollbackTo(a, nil)
		revised(a, 1)
		Eventually(func() string { return string(records(ns)[1].Data.Raw) }).Should(ContainSubstring(imageOf(1)), "the true one replaces the forged one")
		Expect(Reload(theirs)).To(Succeed())
		Expect(theirs.Revision).To(Equal(int64(7)))
	})

	It("go with their WebApp", func() {
		a := serving(webApp(Namespace()))
		Expect(records(a.Namespace)).To(HaveLen(1))
		Remove(a)
		Eventually(func() int { return len(records(a.Namespace)) }).Should(BeZero())
	})

	It("are rolled back to while rollbackTo is set, with their files", func() {
		a := serving(webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.Config = map[string]v1alpha1.FileContent{"app.ini": "x=1"} }))
		first := a.Status.ConfigMap
		d := deploymentOf(a)
		uid := uidOf(d)
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.WebAppImage, a.Spec.Config = imageOf(2), map[string]v1alpha1.FileContent{"app.ini": "x=2"}
		})
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))
		roll(a)
		AwaitReady(a)
		template := live(d).Spec.Template
		Eventually(Gone(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: first}})).Should(Succeed())

		rollbackTo(a, new(int64(1)))
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))
		Expect(live(d).Spec.Template.Spec.Volumes[0].ConfigMap.Name).To(Equal(first))
		Expect(live(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: first}}).Data).To(Equal(map[string]string{"app.ini": "x=1"}))
		roll(a)
		Eventually(Ready(a)).Should(Equal("True RolledBack"))
		Expect([]any{a.Status.Revision, a.Status.ServingRevision, a.Status.Image, a.Spec.WebAppImage}).To(Equal([]any{int64(1), int64(1), imageOf(1), imageOf(2)}))

		By("changing the spec meanwhile")
		Change(a, func(a *v1alpha1.WebApp) {
			a.Spec.Args, a.Spec.WebAppHostname = []string{"--new"}, "moved-"+a.Spec.WebAppHostname
		})
		Eventually(Ready(a)).Should(Equal("True RolledBack"))
		Expect(live(ingressOf(a)).Spec.Rules[0].Host).To(HavePrefix("moved-"), "what is not of the pods counts")
		Expect(deployedImage(a)()).To(Equal(imageOf(1)))
		Expect(a.Status.LastRevision).To(Equal(int64(2)), "what is not rolled out has no number")
		Eventually(func() []string { _ = Reload(a); return a.Status.Claims }).Should(HaveLen(1), "the former host name is given up")
		op.Wire.Forget()
		op.Restart()
		Poke(a)
		Consistently(func() []testenv.Write {
			return op.Wire.Writes(func(w testenv.Write) bool { return w.For(a.Namespace) })
		}, "1s").Should(BeEmpty())

		By("going back to the spec")
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.Args, a.Spec.RollbackTo = nil, nil })
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))
		roll(a)
		AwaitReady(a)
		Expect(live(d).Spec.Template).To(Equal(template))
		Expect(uidOf(d)).To(Equal(uid))
		Expect(numbers(a)).To(Equal([]int64{2, 1}))
	})

	It("that do not exist change nothing", func() {
		a := serving(webApp(Namespace()))
		generation := live(deploymentOf(a)).Generation
		Change(a, func(a *v1alpha1.WebApp) { a.Spec.RollbackTo, a.Spec.WebAppImage = new(int64(5)), imageOf(2) })
		Eventually(Ready(a)).Should(Equal("False RevisionUnknown"))
		Consistently(func() int64 { return live(deploymentOf(a)).Generation }, "500ms").Should(Equal(generation))
		Expect(a.Status.Revision).To(Equal(int64(1)))
		rollbackTo(a, nil)
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))

		By("being asked for from the beginning")
		b := webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.RollbackTo = new(int64(1)) })
		Create(b)
		Eventually(Ready(b)).Should(Equal("False RevisionUnknown"))
		Expect(Message(b, "Composed")).To(ContainSubstring("There are no other revisions"))
		Expect(Gone(deploymentOf(b))()).To(Succeed())
		rollbackTo(b, nil)
		live(deploymentOf(b))
	})

	It("are rolled back to without a migration", func() {
		a := webApp(Namespace(), func(s *v1alpha1.WebAppSpec) { s.Migration = &v1alpha1.Migration{Command: []string{"migrate"}} })
		Create(a)
		endMigrations(a.Namespace, 1)
		roll(a)
		address(a)
		AwaitReady(a)
		version(a, 2)
		jobs := &batchv1.JobList{}
		Eventually(func() string {
			Expect(Admin.List(ctx, jobs, client.InNamespace(a.Namespace))).To(Succeed())
			if len(jobs.Items) != 1 {
				return fmt.Sprint(len(jobs.Items), " Jobs")
			}
			return jobs.Items[0].Spec.Template.Spec.Containers[0].Image
		}).Should(Equal(imageOf(2)))
		Expect(Reload(a)).To(Succeed())
		Expect(a.Status.LastRevision).To(Equal(int64(1)), "its pods may not start yet")
		endMigrations(a.Namespace, 1)
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))
		roll(a)
		AwaitReady(a)
		migrated, job := a.Status.Migrated, jobs.Items[0].UID
		rollbackTo(a, new(int64(1)))
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))
		roll(a)
		Eventually(Ready(a)).Should(Equal("True RolledBack"))
		Expect(Message(a, "Migrated")).To(Equal("the pods are rolled back to revision 1: no migration runs for that, and none is undone"))
		rollbackTo(a, nil)
		Eventually(deployedImage(a)).Should(Equal(imageOf(2)))
		roll(a)
		AwaitReady(a)
		Expect(a.Status.Migrated).To(Equal(migrated))
		Expect(Admin.List(ctx, jobs, client.InNamespace(a.Namespace))).To(Succeed())
		Expect(jobs.Items).To(HaveLen(1))
		Expect(jobs.Items[0].UID).To(Equal(job))

		By("a migration that runs meanwhile")
		version(a, 3)
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		rollbackTo(a, new(int64(1)))
		Eventually(Ready(a)).Should(Equal("False Migrating"))
		Consistently(deployedImage(a), "500ms").Should(Equal(imageOf(2)))
		endMigrations(a.Namespace, 1)
		Eventually(deployedImage(a)).Should(Equal(imageOf(1)))
		roll(a)
		Eventually(Ready(a)).Should(Equal("True RolledBack"))
		Expect(a.Status.Migrated).NotTo(Equal(migrated), "it has succeeded, and need not run again")
		rollbackTo(a, nil)
		Eventually(deployedImage(a)).Should(Equal(imageOf(3)))
	})
})
