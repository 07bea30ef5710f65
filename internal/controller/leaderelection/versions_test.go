// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection_test

import (
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

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
