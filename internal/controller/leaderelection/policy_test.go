// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// mayWrite is the right to write LeaderElections.
var mayWrite = rbacv1.PolicyRule{APIGroups: []string{"coordination.acme.com"}, Resources: []string{"leaderelections"}, Verbs: []string{"create", "patch"}}

func core(resource string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{resource}, Verbs: verbs}
}

var _ = Describe("The policy leader-rights", func() {
	DescribeTable("rejects an author who could not do the same by hand", func(message string, rules ...rbacv1.PolicyRule) {
		e := election(func(e *v1alpha1.LeaderElection) { e.Spec.Handover.StopOld = v1alpha1.StopDelete })
		author := Author(e.Namespace, "author", append(rules, mayWrite)...)
		// Until the API server knows the role, it refuses everything.
		Eventually(func() error { return author.Create(ctx, e.DeepCopy(), client.DryRunAll) }).Should(MatchError(ContainSubstring(message)))
	},
		Entry("pods cannot be patched", "needs the right to patch pods", core("services", "create"), core("pods", "delete")),
		Entry("services cannot be created", "needs the right to create services", core("pods", "patch", "delete")),
		Entry("pods cannot be deleted", "stopOld: Delete needs the right to delete pods", core("pods", "patch"), core("services", "create")),
	)

	It("admits an author who could, and changes of metadata by others", func() {
		e := election()
		author := Author(e.Namespace, "author", mayWrite, core("pods", "patch"), core("services", "create"))
		Eventually(func() error { return author.Create(ctx, e) }).Should(Succeed())
		other := Author(e.Namespace, "other", mayWrite)
		patch := func(text string) func() error {
			return func() error { return other.Patch(ctx, e, client.RawPatch(client.Merge.Type(), []byte(text))) }
		}
		Eventually(patch(`{"metadata":{"annotations":{"a":"b"}}}`)).Should(Succeed())
		Expect(patch(`{"spec":{"discovery":{"configMap":"Disabled"}}}`)()).To(MatchError(ContainSubstring("needs the right to patch pods")))
	})
})

var _ = Describe("The policy leader-marks", func() {
	It("lets the operator change labels and annotations of pods, and nothing else", func() {
		config, err := Plane.User(testenv.OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+testenv.OperatorNamespace)
		Expect(err).NotTo(HaveOccurred())
		operator := ClientOf(config)
		p := pod(Namespace(), "ledger-0")
		patch := func(text string) error {
			return operator.Patch(ctx, p.DeepCopy(), client.RawPatch(client.Merge.Type(), []byte(text)), client.DryRunAll)
		}
		Expect(patch(`{"metadata":{"labels":{"leader":"true"},"annotations":{"a":"b"}}}`)).To(Succeed())
		Eventually(func() error { return patch(`{"spec":{"containers":[{"name":"main","image":"evil"}]}}`) }).
			Should(MatchError(ContainSubstring("the operator must not change the spec of pods")))
		Expect(patch(`{"metadata":{"finalizers":["a.example.com/b"]}}`)).To(MatchError(ContainSubstring("must not change the finalizers")))
		Expect(Admin.Patch(ctx, p.DeepCopy(), client.RawPatch(client.Merge.Type(),
			[]byte(`{"spec":{"containers":[{"name":"main","image":"other"}]}}`)), client.DryRunAll)).To(Succeed())
	})
})

var _ = Describe("The guardrail policy", func() {
	It("keeps the ledger from the administrator of a namespace", func() {
		StartOperator()
		e := election()
		pod(e.Namespace, "ledger-0")
		AwaitReady(Create(e))
		admin := Author(e.Namespace, "admin", rbacv1.PolicyRule{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"*"}})
		lease := leaseOf(e)
		Eventually(func() error { return admin.Get(ctx, client.ObjectKeyFromObject(lease), lease) }).Should(Succeed())
		lease.Spec.HolderIdentity = new("ledger-1/x")
		Eventually(func() error { return admin.Update(ctx, lease, client.DryRunAll) }).Should(MatchError(ContainSubstring("records the leader of a LeaderElection")))
		Expect(admin.Delete(ctx, lease)).To(MatchError(ContainSubstring("only the operator changes it")))
		other := leaseOf(e)
		other.Name = "mine"
		Expect(admin.Create(ctx, other)).To(Succeed())
		Expect(admin.Delete(ctx, other)).To(Succeed())
	})
})
