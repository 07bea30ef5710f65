// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeUnanswered has what kinds guarantee while nobody answers the API of the views, and nobody unregisters it: the rest of the
// operator does not know that it exists. Discovery fails then, and no Namespace can be deleted.
func describeUnanswered(all []*kind) {
	It("G2, G5, G6: hold while nobody answers a registered API", labels("views", all), func(ctx context.Context) {
		op := start()
		api := unanswered()
		objects := map[*kind]engine.Object{}
		for _, k := range all {
			objects[k] = k.several(1, "unanswered")[0]
		}
		quiet(op)
		By("a restart")
		op.Stop()
		before := runs(all)
		op.Wire.Forget()
		op.Start()
		caughtUp(all, before, func(*kind) int { return 1 })
		Consistently(op.Wire.Writes, "2s").Should(BeEmpty())
		By("drift")
		repairs := 0
		for _, k := range all {
			if k.leavesOut("G5") || k.leavesOut("G5 children") {
				continue
			}
			for _, child := range survey(ctx, objects[k].GetName())[objects[k].GetName()].children() {
				if child.GetKind() != "Namespace" {
					repaired(child, "deleted", func(live *unstructured.Unstructured) { removeEntirely(live) })
					repairs++
				}
			}
		}
		Expect(repairs).To(BeNumerically(">", 10))
		By("finalizers")
		waits := 0
		for _, k := range all {
			Remove(objects[k])
		}
		for _, k := range all {
			if goesOrWaits(k, objects[k]) {
				waits++
			}
		}
		Expect(waits).To(BeNumerically(">", 0), "no object has a Namespace, which waits for the API")
		Remove(api)
		for _, o := range objects {
			Eventually(Gone(o), "2m").Should(Succeed())
		}
	})
}

// describeEachUnanswered has the guarantees of each kind once more while nobody answers the API of the views. Of finalizers, G6, the spec
// above has what can be said: a Namespace stays as long as discovery fails. G16 asks no discovery, and wants that nothing is left to do.
func describeEachUnanswered(all []*kind) {
	Describe("While nobody answers a registered API", Label("views", limit.Slow), func() {
		var api *unstructured.Unstructured
		BeforeEach(func() { api = unanswered() })
		AfterEach(func() { Remove(api) }) // before what the spec itself cleans up, which waits for Namespaces
		describeEach(all, "G6", "G16")
	})
}

// unanswered registers an API that nobody answers, until the spec ends.
func unanswered() *unstructured.Unstructured {
	GinkgoHelper()
	api := &unstructured.Unstructured{}
	api.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"})
	api.SetName("v1alpha1.views.acme.com")
	api.Object["spec"] = map[string]any{
		"group": "views.acme.com", "version": "v1alpha1", "groupPriorityMinimum": int64(100), "versionPriority": int64(15), "insecureSkipTLSVerify": true,
		"service": map[string]any{"namespace": testenv.OperatorNamespace, "name": "platform-operator-views"},
	}
	Create(api)
	discardLater(api)
	d, err := discovery.NewDiscoveryClientForConfig(Plane.Config)
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() bool {
		_, _, err := d.ServerGroupsAndResources()
		return discovery.IsGroupDiscoveryFailedError(err)
	}).Should(BeTrue(), "discovery does not fail")
	return api
}

// goesOrWaits waits until an object is gone, or says that it waits for what it has made. It returns whether it waits.
func goesOrWaits(k *kind, o engine.Object) (waits bool) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		if waits = !apierrors.IsNotFound(Reload(o)); waits {
			g.Expect(ready(o).Message).To(ContainSubstring(k.fixture.Lingering()))
		}
	}).Should(Succeed())
	return waits
}
