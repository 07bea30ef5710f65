// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func routes(name string, with ...func(*v1alpha1.SchedulerProfileSpec)) func(*v1alpha1.SchedulerProfileSpec) {
	return func(s *v1alpha1.SchedulerProfileSpec) {
		serving(name)(s)
		s.Routing = &v1alpha1.Routing{Profile: name, NamespaceLabels: map[string]v1alpha1.LabelValue{"team": v1alpha1.LabelValue(name)}}
		for _, w := range with {
			w(s)
		}
	}
}

// schedulerOf gives a function that returns the scheduler that a new pod gets.
func schedulerOf(ns string, with ...func(*corev1.Pod)) func() string {
	return func() string {
		p := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "p-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "registry.acme.com/skynet/t1000:v1"}}},
		}
		for _, w := range with {
			w(p)
		}
		if err := Admin.Create(ctx, p, client.DryRunAll); err != nil {
			return err.Error()
		}
		return p.Spec.SchedulerName
	}
}

// conditioned sets conditions of an object, as the operator would.
func conditioned(p *v1alpha1.SchedulerProfile, all ...metav1.Condition) {
	GinkgoHelper()
	Eventually(func() error {
		if err := Reload(p); err != nil {
			return err
		}
		for _, c := range all {
			meta.SetStatusCondition(&p.Status.Conditions, c)
		}
		p.Status.ObservedGeneration = p.Generation
		return Admin.Status().Update(ctx, p)
	}).Should(Succeed())
}

const byDefault = corev1.DefaultSchedulerName

var _ = Describe("The policy scheduler-routing", func() {
	It("gives pods a scheduler that ask for none, with no operator", func() {
		profile("routing", routes("ml"))
		ns, other := team("ml"), team("web")
		Eventually(schedulerOf(ns)).Should(Equal("ml"))
		Expect(schedulerOf(other)()).To(Equal(byDefault))
		Expect(schedulerOf(metav1.NamespaceDefault)()).NotTo(Equal("ml"))
		Expect(schedulerOf(ns, func(p *corev1.Pod) { p.Spec.SchedulerName = "volcano" })()).To(Equal("volcano"))
		Expect(schedulerOf(ns, func(p *corev1.Pod) { p.Spec.NodeName = "selectable" })()).To(Equal(byDefault))
		Expect(schedulerOf(ns, func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "d", UID: "1", Controller: new(true)}}
		})()).To(Equal(byDefault))

		By("never routing the schedulers themselves")
		Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"team":"ml"}}}`)
		DeferCleanup(func() {
			Patch(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, `{"metadata":{"labels":{"team":null}}}`)
		})
		Consistently(schedulerOf(namespace, func(p *corev1.Pod) { p.Spec.ServiceAccountName = DefaultAccount })).Should(Equal(byDefault))
	})

	It("leaves pods to the default scheduler while none serves, if asked to", func() {
		p := profile("use-default", routes("batch", func(s *v1alpha1.SchedulerProfileSpec) { s.Routing.WhenUnavailable = v1alpha1.UnavailableUseDefault }))
		ns := team("batch")
		Consistently(schedulerOf(ns)).Should(Equal(byDefault))
		conditioned(p, metav1.Condition{Type: Serving, Status: metav1.ConditionTrue, Reason: "Done"})
		Eventually(schedulerOf(ns)).Should(Equal("batch"))
		conditioned(p, metav1.Condition{Type: Serving, Status: metav1.ConditionFalse, Reason: "NotServing"})
		Eventually(schedulerOf(ns)).Should(Equal(byDefault))
	})

	It("disregards the younger one of two objects with a name, and creates pods without any object", func() {
		p := profile("younger", routes("taken"))
		ns := team("taken")
		Eventually(schedulerOf(ns)).Should(Equal("taken"))
		conditioned(p, metav1.Condition{Type: Accepted, Status: metav1.ConditionFalse, Reason: ReasonNameTaken})
		Eventually(schedulerOf(ns)).Should(Equal(byDefault))
		conditioned(p, metav1.Condition{Type: Accepted, Status: metav1.ConditionTrue, Reason: "Done"})
		Eventually(schedulerOf(ns)).Should(Equal("taken"))
		Remove(p)
		Eventually(schedulerOf(ns)).Should(Equal(byDefault))
	})

	It("lets pods be created when the CustomResourceDefinition is gone", func() {
		ns := team("gone")
		profile("gone", routes("gone"))
		Eventually(schedulerOf(ns)).Should(Equal("gone"))
		crd := &unstructured.Unstructured{}
		crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		crd.SetName("schedulerprofiles.scheduling.acme.com")
		Remove(crd)
		Eventually(Gone(crd)).Should(Succeed())
		Eventually(schedulerOf(ns)).Should(Equal(byDefault))
		Consistently(schedulerOf(ns)).Should(Equal(byDefault))
		Consistently(schedulerOf(ns, func(p *corev1.Pod) { p.Spec.SchedulerName = "any" })).Should(Equal("any"))
		By("also when the policies are made without it")
		for _, each := range []client.Object{
			&admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "platform-operator-scheduler-routing"}},
			&admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "platform-operator-scheduler-use"}},
		} {
			Remove(each)
			Eventually(Gone(each)).Should(Succeed())
		}
		Expect(testenv.InstallScheduling(Plane)).To(Succeed())
		named := schedulerOf(ns, func(p *corev1.Pod) { p.Spec.SchedulerName = "any" })
		Consistently(named).Should(Equal("any")) // The API server may look at a policy much later: see TestPoliciesHinderNoPod.
		Expect(schedulerOf(ns)()).To(Equal(byDefault))
		_, err := envtest.InstallCRDs(Plane.Config, envtest.CRDInstallOptions{Paths: []string{definition}})
		Expect(err).NotTo(HaveOccurred())
	})

	It("is named in the condition when it is missing", func() {
		c := startController()
		p := profile("routed", routes("routed"))
		binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: routingPolicy}}
		Expect(Reload(binding)).To(Succeed())
		c.rollOut(p)
		AwaitReady(p)
		Remove(binding.DeepCopy())
		Poke(p)
		Eventually(Ready(p)).Should(Equal("False PolicyMissing"))
		Expect(Message(p, Routed)).To(Equal("spec.routing has no effect: there is no MutatingAdmissionPolicyBinding platform-operator-scheduler-routing; " +
			"let an administrator run: kubectl apply -k config/scheduling"))
		binding.ResourceVersion, binding.UID = "", ""
		Create(binding)
		Poke(p)
		AwaitReady(p)
	})
})

var _ = Describe("The policy scheduler-use", func() {
	It("rejects pods that name a profile elsewhere", func() {
		p := profile("restricted", serving("restricted"), func(s *v1alpha1.SchedulerProfileSpec) {
			s.Use = &v1alpha1.Use{NamespaceLabels: map[string]v1alpha1.LabelValue{"team": "ml"}}
		})
		names := func(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.SchedulerName = name } }
		inside, outside := team("ml"), team("web")
		Eventually(schedulerOf(outside, names("restricted"))).Should(ContainSubstring(
			"the scheduler restricted is only for namespaces with certain labels: see spec.use of the SchedulerProfile restricted"))
		Expect(schedulerOf(inside, names("restricted"))()).To(Equal("restricted"))
		Expect(schedulerOf(outside, names("other"))()).To(Equal("other"))
		Expect(schedulerOf(outside)()).To(Equal(byDefault))
		Remove(p)
		Eventually(schedulerOf(outside, names("restricted"))).Should(Equal("restricted"))
	})
})
