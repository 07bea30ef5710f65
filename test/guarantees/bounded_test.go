// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	swollen     = 10        // objects of each type, and so many tenants
	swollenSize = 900 << 10 // bytes of each, where the API server takes that much
	// maxResident is in MiB, for all of them, which are over 100. 24 to 36 were measured, and of 26 of them 9 were the buffers of the
	// watches, each as large as the largest event of its type, 8 what was looked at just then, and the rest what was kept.
	maxResident = 40
)

// describeFlood has the part of G14 that is about what the operator watches. What is watched is what the operator asks the API server for, so that types which come later
// are covered; one that can be created needs a line in bodies.
func describeFlood(all []*kind) {
	It("G14: needs hardly more memory, whatever tenants create", labels("G14", all), func(ctx context.Context) {
		op := start()
		watched := namespacedOnly(op.Wire.Watched())
		flood := newFlood(all, watched)
		op.Stop()

		p := startProcess()
		before, _ := p.resident() // with all caches filled, and with nothing in them
		flood.come()
		for _, r := range watched {
			By(r.Resource)
			flood.pour(ctx, r, flood.body(r), flood.enlarge)
			now, peak := p.resident()
			AddReportEntry(r.Resource, fmt.Sprintf("%d of %d KiB: grown by %.1f MiB, peak %.0f MiB", swollen, flood.size>>10, now-before, peak))
		}
		stays := func(p *process, when string) {
			Eventually(func(g Gomega) { // what is looked at just now is in memory, too
				now, peak := p.resident()
				g.Expect(now-before).To(BeNumerically("<", maxResident), when)
				g.Expect(peak).To(BeNumerically("<", memoryLimit), "at most, "+when)
			}, "3m", "1s").Should(Succeed())
			now, peak := p.resident()
			AddReportEntry(when, fmt.Sprintf("grown by %.1f to %.0f MiB, peak %.0f MiB", now-before, now, peak))
		}
		stays(p, "while they come")
		p.stop()
		stays(startProcess(), "started with them there")
	})
}

// namespacedOnly are those of some types that tenants may create in their namespaces. Quotas come last: for whatever comes after one,
// Kubernetes writes its status, which is as large as its spec.
func namespacedOnly(watched []schema.GroupVersionResource) []schema.GroupVersionResource {
	GinkgoHelper()
	Expect(watched).NotTo(BeEmpty())
	rank := func(gvr schema.GroupVersionResource) int { return strings.Count(gvr.Resource, "resourcequotas") }
	slices.SortStableFunc(watched, func(a, b schema.GroupVersionResource) int { return rank(a) - rank(b) })
	return slices.DeleteFunc(watched, func(gvr schema.GroupVersionResource) bool {
		i := slices.IndexFunc(resources, func(r served) bool { return r.GroupVersionResource == gvr })
		Expect(i).To(BeNumerically(">=", 0), gvr.String())
		if !resources[i].namespaced {
			omitNow("G14", gvr.Resource, "no tenant creates objects of the cluster's scope; what is large of them but their spec is cut as well")
		}
		return !resources[i].namespaced
	})
}

// flood is what tenants create: in each of their namespaces one object of every type.
type flood struct {
	kinds []*kind
	// names are those that children of a type have; others have one of their own.
	names map[schema.GroupVersionResource]string
	// owners are small objects in each namespace, one of each kind that controls children, by kind.
	owners  map[string][]engine.Object
	size    int      // of an object, in bytes
	strings []string // that are filled with a text, of all types
}

// newFlood looks at what the operator makes: the flood has the same names.
func newFlood(all []*kind, watched []schema.GroupVersionResource) *flood {
	GinkgoHelper()
	f := &flood{kinds: all, names: map[schema.GroupVersionResource]string{}, owners: map[string][]engine.Object{}}
	for _, k := range all {
		victim := k.several(1, "g14-victim")[0].GetName()
		for _, r := range resources {
			if !r.namespaced || !slices.Contains(watched, r.GroupVersionResource) {
				continue
			}
			list(context.Background(), r, func(_ served, o *unstructured.Unstructured) {
				if isChild(o) {
					f.names[r.GroupVersionResource] = o.GetName()
				}
			}, client.InNamespace(victim))
		}
	}
	Expect(f.names).NotTo(BeEmpty())
	return f
}

func tenant(i int) string { return fmt.Sprintf("g14-tenant-%d", i) }

// come makes the tenants' namespaces.
func (f *flood) come() {
	GinkgoHelper()
	for i := range swollen {
		Create(namespaceNamed(tenant(i)))
	}
}

// controller is the kind that controls children of a type, or any that is namespaced.
func (f *flood) controller(gvr schema.GroupVersionResource) *kind {
	GinkgoHelper()
	var found *kind
	for _, k := range f.kinds {
		if !k.namespaced {
			continue
		}
		if found == nil {
			found = k
		}
		for _, h := range k.row.Holds {
			gvk, err := apiutil.GVKForObject(h.Of, Admin.Scheme())
			Expect(err).NotTo(HaveOccurred())
			mapping, err := Admin.RESTMapper().RESTMapping(gvk.GroupKind(), gvk.Version)
			Expect(err).NotTo(HaveOccurred())
			if mapping.Resource == gvr {
				return k
			}
		}
	}
	return found
}

// ownersOf are objects of a kind, one for each tenant.
func (f *flood) ownersOf(k *kind) []engine.Object {
	GinkgoHelper()
	for i := len(f.owners[k.name]); i < swollen; i++ {
		o := k.object("owner")
		o.SetNamespace(tenant(i))
		f.owners[k.name] = append(f.owners[k.name], Create(o))
	}
	return f.owners[k.name]
}

// body is the largest object of a type that is to be had, without its name.
func (f *flood) body(gvr schema.GroupVersionResource) *unstructured.Unstructured {
	GinkgoHelper()
	for _, k := range f.kinds {
		if k.gvk.Group == gvr.Group && k.plural() == gvr.Resource {
			return k.swell()
		}
	}
	build, known := bodies[gvr.GroupResource().String()]
	Expect(known).To(BeTrue(), "bodies has no line for %s, which the operator watches", gvr)
	gvk, err := Admin.RESTMapper().KindFor(gvr)
	Expect(err).NotTo(HaveOccurred())
	o := &unstructured.Unstructured{Object: build(swollenSize / 2)}
	o.SetGroupVersionKind(gvk)
	return o
}

// pour creates the objects of a type, with all marks that the operator knows and with what a function adds, and returns them.
func (f *flood) pour(
	ctx context.Context, gvr schema.GroupVersionResource, body *unstructured.Unstructured, add func(*unstructured.Unstructured),
) (poured []client.Object) {
	GinkgoHelper()
	k := f.controller(gvr)
	var g errgroup.Group
	g.SetLimit(4)
	for _, owner := range f.ownersOf(k) {
		o := body.DeepCopy()
		o.SetNamespace(owner.GetNamespace())
		o.SetName("swollen")
		if name := f.names[gvr]; name != "" {
			o.SetName(name)
		}
		forge(k, owner, o)
		add(o)
		identity := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: o.GetNamespace(), Name: o.GetName()}}
		identity.SetGroupVersionKind(o.GroupVersionKind())
		poured = append(poured, identity)
		g.Go(func() error {
			return Admin.Create(ctx, o, client.FieldOwner(names.FieldManager(k.controller)))
		})
	}
	Expect(g.Wait()).To(Succeed(), gvr.Resource)
	return poured
}

// forge puts on an object all that the operator puts on what it makes for an owner.
func forge(k *kind, owner, o client.Object) {
	o.SetLabels(map[string]string{names.LabelManagedBy: names.Operator, names.LabelOwnerUID: string(owner.GetUID())})
	path := owner.GetName()
	if owner.GetNamespace() != "" {
		path = owner.GetNamespace() + "/" + path
	}
	o.SetAnnotations(map[string]string{
		names.AnnotationOwner: k.controller + "/" + path, names.AnnotationPodSelector: "app=forged",
	})
	o.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(owner, k.gvk)})
}

// enlarge fills the metadata up, with keys that look like the operator's own.
func (f *flood) enlarge(o *unstructured.Unstructured) {
	GinkgoHelper()
	const most = 240 << 10 // of annotations; the API server takes 256 KiB
	annotations, labels := o.GetAnnotations(), o.GetLabels()
	for i := range 6 {
		annotations[fmt.Sprintf("autoreboot.acme.com/a%d", i)] = strings.Repeat("x", most/6)
	}
	o.SetAnnotations(annotations)
	text, err := o.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	for i := 0; len(text)+i*130 < swollenSize; i++ {
		labels[fmt.Sprintf("batch.acme.com/%045d", i)] = strings.Repeat("x", 63)
	}
	o.SetLabels(labels)
	text, err = o.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	f.size = len(text)
	Expect(f.size).To(BeNumerically(">=", swollenSize*9/10), o.GetKind())
}

// swell is the sample with strings as long as the schema admits.
func (k *kind) swell() *unstructured.Unstructured {
	GinkgoHelper()
	const chunk = 100 << 10
	sample := k.object("swollen")
	sample.SetNamespace(tenant(0))
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(sample)
	Expect(err).NotTo(HaveOccurred())
	o := &unstructured.Unstructured{Object: content}
	o.SetGroupVersionKind(k.gvk)
	filled := 0
	for _, p := range k.places() {
		if filled >= swollenSize/2 {
			break
		}
		if p.schema.MaxLength != nil && *p.schema.MaxLength < chunk {
			continue
		}
		larger := &unstructured.Unstructured{Object: with(o.DeepCopy().Object, p.at, strings.Repeat("a", chunk)).(map[string]any)}
		if Admin.Create(context.Background(), larger.DeepCopy(), client.DryRunAll) == nil {
			o = larger
			filled += chunk
		}
	}
	AddReportEntry("spec of "+k.name, fmt.Sprintf("%d KiB", filled>>10))
	return o
}

// bodies are large objects of the types of Kubernetes that the operator watches, of about so many bytes.
var bodies = map[string]func(size int) map[string]any{
	"configmaps": func(size int) map[string]any {
		return map[string]any{"data": map[string]any{"a": strings.Repeat("x", size)}}
	},
	"secrets": func(size int) map[string]any {
		return map[string]any{"stringData": map[string]any{"a": strings.Repeat("x", size)}}
	},
	"controllerrevisions.apps": func(size int) map[string]any {
		return map[string]any{"revision": int64(1), "data": map[string]any{"a": strings.Repeat("x", size)}}
	},
	"deployments.apps":  paused,
	"statefulsets.apps": scaled,
	"daemonsets.apps":   workload,
	"jobs.batch": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{"suspend": true, "template": podTemplate(size, "Never")}}
	},
	"pods": func(size int) map[string]any { // which nobody looks at: others are not watched
		p := podTemplate(size, "Always")
		p["spec"].(map[string]any)["schedulerName"] = "none"
		return p
	},
	"services": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{"ports": []any{map[string]any{"port": int64(80)}}, "selector": manyLabels(size)}}
	},
	"leases.coordination.k8s.io": leased, "endpointslices.discovery.k8s.io": sliced,
	"serviceaccounts": func(size int) map[string]any {
		return map[string]any{"secrets": each(size/64, func(i int) any { return map[string]any{"name": fmt.Sprintf("%050d", i)} })}
	},
	"ingresses.networking.k8s.io": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{"rules": each(size/64, func(i int) any {
			return map[string]any{"host": fmt.Sprintf("a%050d.b", i)}
		})}}
	},
	"poddisruptionbudgets.policy": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{"selector": map[string]any{"matchLabels": manyLabels(size)}}}
	},
	"horizontalpodautoscalers.autoscaling": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{
			"scaleTargetRef": map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}, "maxReplicas": int64(1),
			"metrics": []any{map[string]any{"type": "External", "external": map[string]any{
				"metric": map[string]any{"name": "none", "selector": map[string]any{"matchLabels": manyLabels(size)}},
				"target": map[string]any{"type": "Value", "value": "1"},
			}}},
		}}
	},
	"limitranges": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{"limits": []any{map[string]any{"type": "Container", "default": quantities("example.com", size)}}}}
	},
	"resourcequotas": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{"hard": quantities("requests.example.com", size)}}
	},
	"networkpolicies.networking.k8s.io": func(size int) map[string]any {
		return map[string]any{"spec": map[string]any{"podSelector": map[string]any{}, "ingress": []any{map[string]any{
			"from": each(size/60, func(i int) any {
				return map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": fmt.Sprintf("%020d", i)}}}
			}),
		}}}}
	},
	"roles.rbac.authorization.k8s.io": func(size int) map[string]any {
		return map[string]any{"rules": []any{map[string]any{
			"apiGroups": []any{""}, "resources": []any{"pods"}, "verbs": []any{"get"},
			"resourceNames": each(size/53, func(i int) any { return fmt.Sprintf("%050d", i) }),
		}}}
	},
	"rolebindings.rbac.authorization.k8s.io": func(size int) map[string]any {
		return map[string]any{
			"roleRef": map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "none"},
			"subjects": each(size/100, func(i int) any {
				return map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": fmt.Sprintf("%030d", i)}
			}),
		}
	},
}

// workload has what is large where restarts look, and where they do not.
func workload(size int) map[string]any {
	template := podTemplate(size, "Always")
	annotations := map[string]any{}
	for i := range 10 {
		annotations[fmt.Sprintf("autoreboot.acme.com/configwatcher.w%d", i)] = strings.Repeat("x", 20<<10)
	}
	template["metadata"].(map[string]any)["annotations"] = annotations
	return map[string]any{"spec": map[string]any{
		"selector": map[string]any{"matchLabels": map[string]any{"app": "forged"}}, "template": template,
	}}
}

// scaled is a workload of no pods, which Kubernetes would make as large.
func scaled(size int) map[string]any {
	w := workload(size)
	w["spec"].(map[string]any)["replicas"] = int64(0)
	return w
}

// paused is one of which Kubernetes makes no ReplicaSets either.
func paused(size int) map[string]any {
	w := scaled(size)
	w["spec"].(map[string]any)["paused"] = true
	return w
}

func podTemplate(size int, restart string) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "forged"}},
		"spec": map[string]any{"restartPolicy": restart, "containers": []any{
			map[string]any{"name": "main", "image": "example.com/none", "args": []any{strings.Repeat("x", size)}},
		}},
	}
}

// quantities are few: the API server takes minutes to validate thousands.
func quantities(prefix string, size int) map[string]any {
	all := map[string]any{}
	for i := range size / 5000 {
		all[fmt.Sprintf(prefix+"/%020d", i)] = "1"
	}
	return all
}

// manyLabels are labels of so many bytes in all.
func manyLabels(size int) map[string]any {
	all := map[string]any{}
	for i := range size / 120 {
		all[fmt.Sprintf("%050d", i)] = strings.Repeat("x", 60)
	}
	return all
}
