// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// rediscovered is when the aggregator has discovered the views again for certain. It does so after at most a minute, if a spec before
// has killed a replica while it asked.
const rediscovered = 2 * time.Minute

// An informer of the garbage collector on the views would list every namespace of the cluster for nothing, and keep it from collecting
// anything while the views are down (V6).
var _ = Describe("kube-controller-manager", func() {
	It("finds nothing in the views that it would watch (V6)", func() {
		client, err := discovery.NewDiscoveryClientForConfig(Plane.Config)
		Expect(err).NotTo(HaveOccurred())
		var lists []*metav1.APIResourceList
		Eventually(func() (err error) {
			lists, err = discovery.ServerPreferredResources(client)
			return err
		}).WithTimeout(rediscovered).Should(Succeed(), "a group that is down would be left out")
		for who, verbs := range map[string][]string{
			"kubectl api-resources --verbs=delete": {"delete"},
			"the garbage collector":                {"delete", "list", "watch"},
			"the controller of quotas":             {"create", "list", "watch", "delete"},
		} {
			var groups []string
			for _, l := range discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: verbs}, lists) {
				groups = append(groups, l.GroupVersion)
			}
			Expect(groups).To(ContainElement("tenancy.acme.com/v1alpha1"), who)
			Expect(groups).NotTo(ContainElement(v1alpha1.GroupVersion.String()), who)
		}
	})

	It("opens no informer on the views, when it has discovered them (V6)", Label(limit.Slow), func() {
		Eventually(openWatches).Should(BeZero(), "those of other specs have ended")
		lists := listsSoFar()

		// Once it collects what is new, it has discovered all groups again. It does so every half minute.
		kind := newKind()
		owner := Create(object(kind, "owner", nil))
		child := Create(object(kind, "child", owner))
		Remove(owner)
		Eventually(Gone(child)).WithTimeout(2 * time.Minute).Should(Succeed())
		Expect(openWatches()).To(BeZero())
		Expect(listsSoFar()).To(Equal(lists))

		// Both counts are those of an informer that there is.
		_, sam := newUser()
		w := from(sam)
		Eventually(openWatches).Should(BeEquivalentTo(1))
		Expect(listsSoFar()).To(BeNumerically(">", lists))
		w.Stop()
		Eventually(openWatches).Should(BeZero())
	})
})

// newKind makes a kind that nobody knew before.
func newKind() string {
	GinkgoHelper()
	const kind, group = "Novelty", "test.example.com"
	plural := strings.ToLower(kind) + "s"
	Create(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": plural + "." + group},
		"spec": map[string]any{
			"group": group, "scope": "Cluster", "names": map[string]any{"kind": kind, "plural": plural},
			"versions": []any{map[string]any{
				"name": "v1", "served": true, "storage": true, "schema": map[string]any{"openAPIV3Schema": map[string]any{"type": "object"}},
			}},
		},
	}})
	probe := object(kind, "probe", nil)
	Eventually(func() error { return Admin.Create(ctx, probe) }).Should(Succeed(), "it is served")
	return kind
}

func object(kind, name string, owner *unstructured.Unstructured) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "test.example.com/v1", "kind": kind, "metadata": map[string]any{"name": name},
	}}
	if owner != nil {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: o.GetAPIVersion(), Kind: kind, Name: owner.GetName(), UID: owner.GetUID()}})
	}
	return o
}

// openWatches counts the watches of views that are open at both replicas.
func openWatches() float64 { return sumOf("apiserver_longrunning_requests", "WATCH") }

// listsSoFar counts the lists of views at both replicas.
func listsSoFar() float64 { return sumOf("apiserver_request_total", "LIST") }

// sumOf adds a metric up, over what it counts of the views by a verb.
func sumOf(metric, verb string) (sum float64) {
	GinkgoHelper()
	families, err := legacyregistry.DefaultGatherer.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() != metric {
			continue
		}
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if slices.Equal([]string{labels["group"], labels["verb"]}, []string{v1alpha1.GroupVersion.Group, verb}) {
				sum += m.GetGauge().GetValue() + m.GetCounter().GetValue()
			}
		}
	}
	return sum
}
