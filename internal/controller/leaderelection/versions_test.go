// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = Describe("A mark", func() {
	It("is written only to the version of the pod that was read, and of the ledger", func() {
		op := StartOperator()
		e := election()
		p := pod(e.Namespace, "ledger-0")
		promotes := func(w testenv.Write) bool {
			return w.Method == http.MethodPatch && strings.HasSuffix(w.Path, e.Namespace+"/pods/ledger-0") && strings.Contains(string(w.Body), `"leader `)
		}
		writes := func(w testenv.Write) bool {
			return w.Method == http.MethodPut && strings.Contains(w.Path, e.Namespace+"/leases/")
		}
		var pods, ledgers sync.Once
		op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool { // somebody else is faster, once
			if promotes(w) {
				pods.Do(func() { Annotate(p.DeepCopy(), "others.example.com/annotation", "theirs") })
			}
			if writes(w) {
				ledgers.Do(func() { Annotate(leaseOf(e), "others.example.com/annotation", "theirs") })
			}
			return false
		}})
		AwaitReady(Create(e))
		codes := func(match func(testenv.Write) bool) (all []int) {
			for _, w := range op.Wire.Writes(match) {
				all = append(all, w.Code)
			}
			return all
		}
		Expect(codes(promotes)).To(Equal([]int{http.StatusConflict, http.StatusOK}))
		Expect(codes(writes)).To(Equal([]int{http.StatusConflict, http.StatusOK, http.StatusOK}), "one of a rebuilding, and that of the holder")
	})
})

var _ = Describe("The old leader", func() {
	It("is deleted only in the version that was read", func() {
		op := StartOperator()
		e := election(stops)
		p := pod(e.Namespace, "ledger-0")
		pod(e.Namespace, "ledger-1")
		AwaitReady(Create(e))
		deletes := func(w testenv.Write) bool {
			return w.Method == http.MethodDelete && strings.HasSuffix(w.Path, e.Namespace+"/pods/ledger-0")
		}
		var once sync.Once
		op.Wire.Inject(testenv.Fault{Match: func(w testenv.Write) bool {
			if deletes(w) {
				once.Do(func() { Annotate(p.DeepCopy(), "others.example.com/annotation", "theirs") })
			}
			return false
		}})
		Annotate(e, names.AnnotationHandOver, "sam: maintenance")
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		var codes []int
		for _, w := range op.Wire.Writes(deletes) {
			codes = append(codes, w.Code)
		}
		Expect(codes).To(Equal([]int{http.StatusConflict, http.StatusOK}))
	})
})

// recorded gives an election a status.
func recorded(e *v1alpha1.LeaderElection, status string) {
	GinkgoHelper()
	Expect(Admin.Status().Patch(ctx, e, client.RawPatch(client.Merge.Type(), []byte(`{"status":`+status+`}`)))).To(Succeed())
}

var _ = Describe("An upgrade", func() {
	// What the operator of an earlier version has left, in its own words: it writes no UIDs beside its marks.
	It("continues with the ledger and the marks of an earlier version, and touches no pod", func() {
		e := election(stops)
		a, b := pod(e.Namespace, "ledger-0"), pod(e.Namespace, "ledger-1")
		Patch(a, `{"metadata":{"labels":{"leader":"true"},"annotations":{"coordination.acme.com/ledger":"leader 3"}}}`)
		Patch(b, `{"metadata":{"annotations":{"coordination.acme.com/ledger":"fenced 3"}}}`)
		lease := ledgerOf(Create(e))
		lease.Annotations["coordination.acme.com/last"] = `{"from":"ledger-1/` + string(b.UID) + `","reason":"NotReady","at":"2026-11-28T06:00:00Z"}`
		lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: new("ledger-0/" + string(a.UID)), LeaseTransitions: new(int32(3))}
		Create(lease)
		recorded(e, `{"epoch":3,"leader":{"pod":"ledger-0","uid":"`+string(a.UID)+`","since":"2026-11-28T06:00:00Z"}}`)
		op := StartOperator()
		AwaitReady(e)
		Expect(leader(e)()).To(Equal("ledger-0 3"))
		Eventually(routed(e, "ledger-leader")).Should(Equal([]string{"ledger-0"}))
		Expect(op.Wire.Writes(func(w testenv.Write) bool {
			return w.For(e.Namespace) && (strings.Contains(w.Path, "/pods/") || strings.Contains(w.Path, "/leases"))
		})).To(BeEmpty())

		Patch(a, `{"metadata":{"labels":{"app":"other"}}}`) // the selector proves nothing any more: its mark does
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		Expect(Reload(a)).To(Succeed())
		Expect(a.DeletionTimestamp).NotTo(BeNil())
		Expect(labelled(e.Namespace)()).To(BeEmpty())
		kill(a)
		Eventually(leader(e)).Should(Equal("ledger-1 4"))
	})

	It("awaits the end of a leader that an earlier version was stopping", func() {
		e := election(stops)
		a := pod(e.Namespace, "ledger-0", func(p *corev1.Pod) {
			p.Labels["app"] = "other"
			p.Annotations = map[string]string{"coordination.acme.com/ledger": "former 4"}
		})
		pod(e.Namespace, "ledger-1")
		lease := ledgerOf(Create(e))
		lease.Annotations["coordination.acme.com/revoking"] = "ledger-0/" + string(a.UID)
		lease.Spec.LeaseTransitions = new(int32(4))
		Create(lease)
		recorded(e, `{"epoch":4}`)
		StartOperator()
		Eventually(Ready(e)).Should(Equal("False OldStillStopping"))
		kill(a)
		Eventually(leader(e)).Should(Equal("ledger-1 4"))
	})
})
