// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"encoding/json"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// victim is a pod that the election does not select, and that has its label for reasons of its own.
func victim(e *v1alpha1.LeaderElection) *corev1.Pod {
	GinkgoHelper()
	return pod(e.Namespace, "victim-0", func(p *corev1.Pod) { p.Labels = map[string]string{"app": "victim", "leader": "true"} })
}

// naming makes a Lease name a pod as the one that has led until epoch 7.
func naming(lease *coordinationv1.Lease, p *corev1.Pod) *coordinationv1.Lease {
	lease.Spec = coordinationv1.LeaseSpec{LeaseTransitions: new(int32(7)), HolderIdentity: new(p.Name + "/" + string(p.UID))}
	return lease
}

var _ = Describe("What a ledger names", func() {
	DescribeTable("is nothing if somebody else has made the Lease", func(forge func(*v1alpha1.LeaderElection, *coordinationv1.Lease), stop v1alpha1.StopOld) {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) {
			e.Spec.Handover.StopOld = stop
			e.Annotations = map[string]string{names.AnnotationPaused: "true"}
		})
		p := victim(e)
		pod(e.Namespace, "ledger-0")
		Create(e)
		Expect(Reload(p)).To(Succeed())
		forger := Author(e.Namespace, "forger", rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"create"}})
		lease := naming(leaseOf(e), p)
		lease.Annotations = map[string]string{names.AnnotationOwner: names.OwnerMark("leaderelection", e)}
		forge(e, lease)
		Eventually(func() error { return forger.Create(ctx, lease) }).Should(Succeed())
		Annotate(e, names.AnnotationPaused, "false")
		Eventually(Ready(e)).Should(Equal("False NameTaken"))
		Expect(Message(e, "Elected")).To(ContainSubstring("ledger-leader exists and does not belong to this object"))
		now := p.DeepCopy()
		Expect(Reload(now)).To(Succeed())
		Expect(now.ResourceVersion).To(Equal(p.ResourceVersion), "the pod is as it was")
		Remove(lease)
		Eventually(leader(e)).Should(Equal("ledger-0 1"))
		Expect(labelled(e.Namespace)()).To(Equal([]string{"ledger-0", "victim-0"}))
	},
		Entry("with the annotation of a ledger", func(*v1alpha1.LeaderElection, *coordinationv1.Lease) {}, v1alpha1.StopDelete),
		Entry("with the annotation of a ledger, and pods are not deleted", func(*v1alpha1.LeaderElection, *coordinationv1.Lease) {}, v1alpha1.StopNever),
		Entry("with the owner of a ledger", func(e *v1alpha1.LeaderElection, l *coordinationv1.Lease) {
			l.OwnerReferences = ledgerOf(e).OwnerReferences
			l.OwnerReferences[0].BlockOwnerDeletion = nil
		}, v1alpha1.StopDelete),
	)

	// Without the guardrail policy, or with more rights than tenants have, a Lease can have all marks.
	DescribeTable("is left alone if it has not led for this object, also if the ledger has all marks", func(mark map[string]string) {
		StartOperator()
		e := election(stops, func(e *v1alpha1.LeaderElection) { e.Annotations = map[string]string{names.AnnotationPaused: "true"} })
		p := victim(e)
		text, err := json.Marshal(mark)
		Expect(err).NotTo(HaveOccurred())
		Patch(p, fmt.Sprintf(`{"metadata":{"annotations":%s}}`, text))
		pod(e.Namespace, "ledger-0")
		lease := naming(ledgerOf(Create(e)), p)
		Create(lease)
		Annotate(e, names.AnnotationPaused, "false")
		Eventually(leader(e)).Should(Equal("ledger-0 8"))
		Patch(leaseOf(e), fmt.Sprintf(`{"metadata":{"annotations":{"%s":"victim-0/%s"}},"spec":{"holderIdentity":null}}`, names.AnnotationRevoking, p.UID))
		Eventually(leader(e)).Should(HavePrefix("ledger-0 "))
		Remove(e)
		Eventually(Gone(e)).Should(Succeed())
		now := p.DeepCopy()
		Expect(Reload(now)).To(Succeed())
		Expect(now.ResourceVersion).To(Equal(p.ResourceVersion), "the pod is as it was")
	},
		Entry("without a mark", nil),
		Entry("with a mark of another election", map[string]string{"coordination.acme.com/other": "leader 7"}),
		Entry("with a mark of a former object of the name", map[string]string{
			"coordination.acme.com/ledger": "leader 7", "by.coordination.acme.com/ledger": "00000000-0000-0000-0000-000000000001",
		}),
	)

	It("is believed no more when its object is deleted and leaves the Lease", func() {
		StartOperator()
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.DeletionPolicy = v1alpha1.DeletionKeep })
		p := pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		Remove(e, client.PropagationPolicy(metav1.DeletePropagationOrphan))
		Eventually(Gone(e)).Should(Succeed())
		for _, name := range []string{"ledger-leader", "ledger-members"} { // its administrator may delete these, and not the Lease
			Remove(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: e.Namespace, Name: name}})
		}
		again := &v1alpha1.LeaderElection{ObjectMeta: metav1.ObjectMeta{Name: e.Name, Namespace: e.Namespace}, Spec: e.Spec}
		again.Spec.Discovery = v1alpha1.Discovery{} // the ConfigMap is left, too
		again.Spec.PodSelector = map[string]v1alpha1.LabelValue{"app": "other"}
		Create(again)
		Eventually(func(g Gomega) {
			lease := leaseOf(e)
			g.Expect(Reload(lease)).To(Succeed())
			g.Expect(metav1.IsControlledBy(lease, again)).To(BeTrue())
			g.Expect(lease.Spec).To(Equal(coordinationv1.LeaseSpec{LeaseTransitions: new(int32(2))}))
		}).Should(Succeed())
		Expect(labelled(p.Namespace)()).To(Equal([]string{"ledger-0"}))
	})
})
