// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
	"github.com/acme/platform-operator/internal/testenv/schematest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
	"github.com/acme/platform-operator/internal/tolerant"
)

// withoutParsers says of a kind in which no string is read by a parser of its type why that is so.
var withoutParsers = map[string]string{}

// describePoison has the part of G15 that is for all kinds at once.
func describePoison(all []*kind) {
	Describe("G15: no object stops a kind or the operator", labels("G15", all), func() {
		It("with strings generated from the schema", Label(limit.Slow, limit.Random), func(ctx context.Context) {
			generated(ctx, dose{seed: GinkgoRandomSeed(), fields: 500}, all...)
		})
		It("with strings that an older schema admitted, nor makes the next one wait", Label(limit.Slow, limit.Timed), func(ctx context.Context) {
			older(ctx, all)
		})
	})
}

// describePoisonOf has the part of G15 that is for one kind, with a few strings.
func describePoisonOf(k *kind) {
	Describe("G15: no object stops the kind", Label("G15"), func() {
		It("with a few strings generated from the schema", func(ctx context.Context) { generated(ctx, few(), k) })
		if withoutParsers[k.name] == "" {
			It("with a few strings that an older schema admitted", func(ctx context.Context) { survives(ctx, k) })
		}
	})
}

// worked is how many objects of each kind the operator meets that have generated strings.
const worked = 30

// generated makes objects of every kind with strings that are made from the schema itself. The API server is asked about some of
// them, because a kind that embeds types of Kubernetes has thousands. All that it would take can be decoded; some are created.
func generated(ctx context.Context, d dose, all ...*kind) {
	GinkgoHelper()
	op := start()
	random := d.random()
	for _, k := range all {
		namespace := unique("g15-all")
		k.surround(k.object(namespace))
		var made, readable []text
		for _, p := range k.places() {
			for _, s := range p.strings(random) {
				made = append(made, text{p.at, s})
			}
		}
		random.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
		asked := made[:min(d.fields, len(made))]
		for _, t := range asked {
			if k.readable(ctx, namespace, t) {
				readable = append(readable, t)
			}
		}
		AddReportEntry(k.name, fmt.Sprintf("%d of %d objects would be admitted; %d were made", len(readable), len(asked), len(made)))
		Expect(readable).NotTo(BeEmpty(), k.name)
		for _, t := range readable[:min(worked, len(readable))] {
			Expect(k.admitted(ctx, namespace, t)).NotTo(BeNil(), "%s %v: %q", k.name, t.at, t.s)
		}
		k.several(1, "g15-next", k.briefly)
	}
	op.Restart()
	for _, k := range all {
		k.several(1, "g15-next", k.briefly)
		Expect(unreadable(k)).To(BeZero(), "%s: the schema admits what cannot be decoded", k.name)
	}
}

// survives is older for one kind, with the poison of a few places, and whatever the time is that the next object takes.
func survives(ctx context.Context, k *kind) {
	GinkgoHelper()
	restore := sync.OnceValue(func() error { return testenv.InstallDefinitions(Plane, k.gvk.Group+"_"+k.plural()+".yaml") })
	DeferCleanup(restore)
	loosen(ctx, k.crd())
	op := start()
	var poisoned []client.Object
	namespace := unique("g15-bad")
	k.surround(k.object(namespace))
	for _, p := range k.places() {
		for _, s := range p.poison() {
			if len(poisoned) < 5 {
				poisoned = append(poisoned, k.poisoned(ctx, namespace, p, s))
			}
		}
	}
	Expect(poisoned).NotTo(BeEmpty(), "see withoutParsers")
	k.several(1, "g15-next", k.briefly)
	Eventually(unreadable).WithArguments(k).Should(BeEquivalentTo(len(poisoned)))
	Expect(restore()).To(Succeed())
	op.Restart()
	k.several(1, "g15-next", k.briefly)
	isReported(poisoned)
	Eventually(unreadable).WithArguments(k).Should(BeZero())
}

// poisoned stores an object with a string that its parser cannot read.
func (k *kind) poisoned(ctx context.Context, namespace string, p place, s string) client.Object {
	GinkgoHelper()
	o := k.admitted(ctx, namespace, text{p.at, s})
	Expect(o).NotTo(BeNil(), "%s %v: %s", k.name, p.at, s)
	return k.identity(o)
}

// isReported checks that users learn of objects that cannot be decoded, which can then be deleted.
func isReported(poisoned []client.Object) {
	GinkgoHelper()
	for _, o := range poisoned {
		Eventually(EventsOf(o)).Should(ContainElement(HavePrefix("Warning Unreadable: The operator cannot decode this ")))
		Expect(logs.String()).To(ContainSubstring(o.GetName()))
		Remove(o) // the operator has made nothing for it, and holds nothing
		Eventually(Gone(o)).Should(Succeed())
	}
}

// readable reports whether the API server would take an object with some strings in it, which can be decoded then.
func (k *kind) readable(ctx context.Context, namespace string, texts ...text) bool {
	GinkgoHelper()
	u := k.filled(k.object(unique("g15")), namespace, texts...)
	if Admin.Create(ctx, u, client.DryRunAll) != nil {
		return false
	}
	Expect(tolerant.Decode(u.Object, k.empty())).To(Succeed(), "%s: the schema admits %q", k.name, texts)
	return true
}

// identity is all of an object that can be read safely by a test: it has no better decoder.
func (k *kind) identity(o client.Object) client.Object {
	GinkgoHelper()
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(k.gvk)
	m.SetNamespace(o.GetNamespace())
	m.SetName(o.GetName())
	Expect(Reload(m)).To(Succeed())
	return m
}

// unreadable is how many objects of a kind the operator could not decode.
func unreadable(k *kind) float64 {
	return Metric("platform_operator_unreadable_objects", k.controller)
}

// place is where a string stands in a kind, with what the generated schema says of it.
type place struct {
	at     field
	schema apiextensionsv1.JSONSchemaProps
}

// places are all places of a kind that take a string.
func (k *kind) places() []place {
	var all []place
	for _, v := range k.crd().Spec.Versions {
		if v.Name != k.gvk.Version {
			continue
		}
		spec := v.Schema.OpenAPIV3Schema.Properties["spec"]
		for _, at := range walk(spec, field{"spec"}) {
			all = append(all, place{at, below(spec, at[1:])})
		}
	}
	return all
}

// below is the schema at a place.
func below(s apiextensionsv1.JSONSchemaProps, at field) apiextensionsv1.JSONSchemaProps {
	switch {
	case len(at) == 0:
		return s
	case at[0] == "{key}":
		return apiextensionsv1.JSONSchemaProps{Type: "string"}
	case at[0] == "[]":
		return below(*s.Items.Schema, at[1:])
	case at[0] == "{}":
		return below(*s.AdditionalProperties.Schema, at[1:])
	}
	return below(s.Properties[at[0]], at[1:])
}

// strings are those that the schema's own pattern makes, and those that have hung, stopped or confused parsers.
func (p place) strings(random *rand.Rand) []string {
	pattern, length := p.schema.Pattern, 64
	if pattern == "" {
		pattern = `^[^\x00]*$`
	}
	if p.schema.MaxLength != nil {
		length = int(*p.schema.MaxLength)
	}
	made := schematest.Strings(pattern, length, 2, random)
	random.Shuffle(len(made), func(i, j int) { made[i], made[j] = made[j], made[i] })
	return append(made[:min(4, len(made))],
		"1e-100000000", "1e1.5", "1e18", "0.000000001", "hugepages-", "hugepages-1e9", "a\u009bb", "99999999999999h", "2027-02-30T00:00:00Z")
}

// poison is what the parser of a place cannot read.
func (p place) poison() []string {
	isDuration := slices.ContainsFunc(p.schema.XValidations, func(r apiextensionsv1.ValidationRule) bool {
		return strings.Contains(r.Rule, "duration(self)")
	})
	switch {
	case p.schema.XIntOrString && !strings.HasSuffix(p.schema.Pattern, "%?$"): // a quantity; a number or percentage takes any text
		return []string{"1e-100000000", "1e1.5"}
	case isDuration:
		return []string{"99999999999999h", "soon"}
	case p.schema.Format == "date-time":
		return []string{"2027-02-30T00:00:00Z"}
	}
	return nil
}

// loosen takes from the schemas of kinds whatever a value may break, as if an older version had not had it.
func loosen(ctx context.Context, definitions ...*apiextensionsv1.CustomResourceDefinition) {
	GinkgoHelper()
	cl, err := client.New(Plane.Config, client.Options{Scheme: crdScheme()})
	Expect(err).NotTo(HaveOccurred())
	for _, definition := range definitions {
		Eventually(func(g Gomega) {
			crd := &apiextensionsv1.CustomResourceDefinition{}
			g.Expect(cl.Get(ctx, client.ObjectKeyFromObject(definition), crd)).To(Succeed())
			for i := range crd.Spec.Versions {
				schema := crd.Spec.Versions[i].Schema.OpenAPIV3Schema
				spec := schema.Properties["spec"]
				loose(&spec)
				schema.Properties["spec"] = spec
			}
			g.Expect(cl.Update(ctx, crd, client.FieldOwner(names.Operator+"-older"))).To(Succeed())
		}).Should(Succeed())
	}
}

func loose(s *apiextensionsv1.JSONSchemaProps) {
	s.Pattern, s.Format, s.XValidations = "", "", nil
	s.MaxLength, s.Minimum, s.Maximum, s.Required = nil, nil, nil, nil
	s.XListType, s.XListMapKeys = nil, nil // a key has to be required
	if s.Items != nil {
		loose(s.Items.Schema)
	}
	if s.AdditionalProperties != nil {
		loose(s.AdditionalProperties.Schema)
	}
	for name, p := range s.Properties {
		loose(&p)
		s.Properties[name] = p
	}
}
