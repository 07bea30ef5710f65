// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// served is a type of objects that the API server serves.
type served struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// resources are all types that can be listed, but for what changes by itself.
var resources []served

func discoverResources() {
	GinkgoHelper()
	d, err := discovery.NewDiscoveryClientForConfig(Plane.Config)
	Expect(err).NotTo(HaveOccurred())
	lists, err := d.ServerPreferredResources()
	Expect(err).NotTo(HaveOccurred())
	resources = nil
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		Expect(err).NotTo(HaveOccurred())
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && !slices.Contains([]string{"events", "componentstatuses", "endpoints"}, r.Name) {
				resources = append(resources, served{gv.WithResource(r.Name), r.Kind, r.Namespaced})
			}
		}
	}
}

// contents is everything that belongs to one unique name, by kind and name.
type contents map[string]*unstructured.Unstructured

// survey finds everything that belongs to the given unique names: what is called so, what is in a Namespace that is called so,
// and what is in the operator's Namespace and called after it.
func survey(ctx context.Context, uniques ...string) map[string]contents {
	GinkgoHelper()
	all := map[string]contents{}
	for _, u := range uniques {
		all[u] = contents{}
	}
	add := func(r served, o *unstructured.Unstructured) {
		belongsTo := o.GetName()
		if r.namespaced {
			belongsTo = o.GetNamespace()
		}
		if i := slices.IndexFunc(uniques, func(u string) bool { return testenv.CalledAfter(o.GetName(), u) }); i >= 0 && belongsTo == testenv.OperatorNamespace {
			belongsTo = uniques[i]
		}
		key := o.GetKind() + "/" + o.GetName()
		if c, ok := all[belongsTo]; ok && key != "ServiceAccount/default" && !madeByKubernetes(o) {
			c[key] = o
		}
	}
	if len(uniques) > 1 {
		everything(ctx, add)
		return all
	}
	for _, r := range lasting() { // no object more than it takes
		if !r.namespaced {
			list(ctx, r, add, client.MatchingFields{"metadata.name": uniques[0]})
			continue
		}
		list(ctx, r, add, client.InNamespace(uniques[0]))
		list(ctx, r, add, client.InNamespace(testenv.OperatorNamespace))
	}
	return all
}

// madeByKubernetes reports whether a controller of Kubernetes made an object for a workload or a Service: that is
// its business, and comes when it comes.
func madeByKubernetes(o *unstructured.Unstructured) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && (strings.HasPrefix(owner.APIVersion, "apps/") || strings.HasPrefix(owner.APIVersion, "batch/") || owner.Kind == "Service")
}

// lasting are the types whose objects stay as they are at rest. Leases are renewed all the time, or are ledgers, which nothing repairs.
func lasting() []served {
	return slices.DeleteFunc(slices.Clone(resources), func(r served) bool { return r.Resource == "leases" })
}

// everything calls a function for every object in the cluster.
func everything(ctx context.Context, do func(served, *unstructured.Unstructured)) {
	GinkgoHelper()
	for _, r := range lasting() {
		list(ctx, r, do)
	}
}

// list calls a function for every object of a list.
func list(ctx context.Context, r served, do func(served, *unstructured.Unstructured), where ...client.ListOption) {
	GinkgoHelper()
	found := &unstructured.UnstructuredList{}
	found.SetGroupVersionKind(r.GroupVersion().WithKind(r.kind + "List"))
	Expect(Admin.List(ctx, found, where...)).To(Succeed(), r.Resource)
	for i := range found.Items {
		do(r, &found.Items[i])
	}
}

// children are the objects that carry the marks of an owner, sorted; a Namespace comes last.
func (c contents) children() []*unstructured.Unstructured {
	var own []*unstructured.Unstructured
	for _, key := range sortedKeys(c) {
		if isChild(c[key]) {
			own = append(own, c[key])
		}
	}
	slices.SortStableFunc(own, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return own
}

// isChild reports whether an object carries the mark of an owner, or is what an annotated one has asked for.
func isChild(o *unstructured.Unstructured) bool {
	return o.GetLabels()[names.LabelOwnerUID] != "" || isAsked(o)
}

func rank(o *unstructured.Unstructured) int {
	if o.GetKind() == "Namespace" {
		return 1
	}
	return 0
}

// versions are the resource versions by kind and name.
func (c contents) versions() map[string]string {
	out := map[string]string{}
	for key, o := range c {
		out[key] = o.GetResourceVersion()
	}
	return out
}

// timestamp is a time in JSON as Kubernetes writes it.
var timestamp = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)

// keyed are hashes that differ between objects with equal content: of restarts' sources, their keys, and marks.
var keyed = regexp.MustCompile(`[0-9a-f]{40}"|\b[0-9a-f]{16}"|\b[0-9a-f]{32}"|\b[0-9a-f]{10}"`)

// comparable gives the contents without what differs between two equal histories: times, versions, UIDs,
// and the unique name.
func (c contents) comparable(unique string) map[string]any {
	GinkgoHelper()
	replace := []string{unique, "UNIQUE"}
	for _, key := range sortedKeys(c) {
		replace = append(replace, string(c[key].GetUID()), "UID of "+strings.ReplaceAll(key, unique, "UNIQUE"))
	}
	// The owner may be gone, and its UID left in what it made.
	for _, o := range c {
		if uid := o.GetLabels()[names.LabelOwnerUID]; uid != "" {
			replace = append(replace, uid, "UID of the owner")
		}
		for key, uid := range o.GetAnnotations() {
			if strings.HasPrefix(key, names.LeaderMarkBy("")) {
				replace = append(replace, uid, "UID of the owner")
			}
		}
	}
	replacer := strings.NewReplacer(replace...)
	plainly := func(text string) string { return anonymous(replacer.Replace(text)) }
	out, drawn := map[string]any{}, map[string]string{}
	for _, key := range sortedKeys(c) {
		text, err := json.Marshal(bare(c[key]))
		Expect(err).NotTo(HaveOccurred())
		var plain map[string]any
		text = timestamp.ReplaceAll([]byte(plainly(string(text))), []byte(`"TIME"`))
		text = keyed.ReplaceAll(text, []byte(`HASH"`))
		text = terms.ReplaceAll(text, []byte(`${1}0`))
		text = seenAs.ReplaceAll(text, []byte(`"$1":"SEEN"`))
		text = random.ReplaceAllFunc(text, func(found []byte) []byte { // the same one in two places stays the same one
			if drawn[string(found)] == "" {
				drawn[string(found)] = fmt.Sprintf("RANDOM%d", len(drawn))
			}
			return []byte(drawn[string(found)])
		})
		Expect(json.Unmarshal(text, &plain)).To(Succeed())
		name := plainly(key)
		for out[name] != nil { // of several configurations
			name += ", another one"
		}
		out[name] = plain
	}
	return out
}

// slots end the names of runs, and digests those of configurations, which may have the names of objects in them.
var slots, digests = regexp.MustCompile(`-20\d{10}\b`), regexp.MustCompile(`-[0-9a-f]{10}\b`)

// anonymous is a text without what ends names.
func anonymous(text string) string {
	return digests.ReplaceAllString(slots.ReplaceAllString(text, "-SLOT"), "-DIGEST")
}

// random are passwords that are generated, and what numbers them.
var random = regexp.MustCompile(`\b[A-Z2-7]{26}\b`)

// terms are the numbers of terms of leaders, which may have gaps, and how long there was none.
var terms = regexp.MustCompile(`(leader |fenced |epoch |"epoch":"?|"took":")\d[^",}]*`)

// seenAs is in which version, and in which state of its writes, a source was seen, and what decides which instants are slots.
var seenAs = regexp.MustCompile(`"(version|written|rules)":"[0-9a-f]+"`)

// legible spells the content of a Secret as it is, so that a unique name in it is found.
func legible(o *unstructured.Unstructured) {
	data, found, _ := unstructured.NestedStringMap(o.Object, "data")
	if o.GetKind() != "Secret" || !found {
		return
	}
	for key, encoded := range data {
		text, err := base64.StdEncoding.DecodeString(encoded)
		Expect(err).NotTo(HaveOccurred())
		data[key] = string(text)
	}
	Expect(unstructured.SetNestedStringMap(o.Object, data, "data")).To(Succeed())
}

// bare is an object without times and versions, and with the operator's own entries only among the
// managed fields.
func bare(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	legible(o)
	if o.GetKind() == "Service" { // each has an address of its own
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(o.Object, "spec", "clusterIPs")
	}
	o.SetResourceVersion("")
	o.SetGeneration(0)
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	var managed []metav1.ManagedFieldsEntry
	for _, m := range o.GetManagedFields() {
		if names.IsFieldManager(m.Manager) {
			m.Time = nil
			managed = append(managed, m)
		}
	}
	o.SetManagedFields(managed)
	// Runs are listed by when they started, which differs: some start within one second, others not.
	runs, found, _ := unstructured.NestedSlice(o.Object, "status", "active")
	slices.SortFunc(runs, func(a, b any) int {
		return cmp.Compare(fmt.Sprint(a.(map[string]any)["job"]), fmt.Sprint(b.(map[string]any)["job"]))
	})
	if found {
		_ = unstructured.SetNestedSlice(o.Object, runs, "status", "active")
	}
	conditions, found, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		delete(c.(map[string]any), "lastTransitionTime")
		delete(c.(map[string]any), "observedGeneration")
	}
	if found {
		_ = unstructured.SetNestedSlice(o.Object, conditions, "status", "conditions")
		unstructured.RemoveNestedField(o.Object, "status", "observedGeneration")
	}
	return o.Object
}

// wanted is what the operator wants of a child, in a form that can be compared: all but status and
// managed fields.
func wanted(o *unstructured.Unstructured) map[string]any {
	b := bare(o)
	delete(b, "status")
	m := b["metadata"].(map[string]any)
	delete(m, "managedFields")
	delete(m, "uid")
	return b
}

// reconciles is how many runs of a kind's controller have ended.
func reconciles(k *kind) float64 {
	GinkgoHelper()
	return metric("controller_runtime_reconcile_total", "controller", k.controller)
}

// busy is how many runs of a kind's controller are in progress.
func busy(k *kind) float64 {
	GinkgoHelper()
	return metric("controller_runtime_active_workers", "controller", k.controller)
}

// metric adds up the values of a counter or gauge that have a label's value; an empty label means all.
func metric(name, label, value string) float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	sum, known := 0.0, false
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		known = true
		for _, m := range f.GetMetric() {
			if label == "" || slices.ContainsFunc(m.GetLabel(), func(l *dto.LabelPair) bool {
				return l.GetName() == label && l.GetValue() == value
			}) {
				sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
			}
		}
	}
	Expect(known).To(BeTrue(), fmt.Sprintf("there is no metric %s", name))
	return sum
}
