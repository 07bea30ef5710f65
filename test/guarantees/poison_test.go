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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	"github.com/acme/platform-operator/internal/testenv/schematest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
	"github.com/acme/platform-operator/internal/tolerant"
)

// withoutParsers says of a kind in which no string is read by a parser of its type why that is so.
var withoutParsers = map[string]string{}

// describePoison has G15.
func describePoison(all []*kind) {
	labels := Labels{"G15"}
	for _, k := range all {
		labels = append(labels, k.name)
	}
	Describe("G15: no object stops a kind or the operator", labels, func() {
		It("with strings generated from the schema", func(ctx context.Context) { generated(ctx, all) })
		It("with strings that an older schema admitted", func(ctx context.Context) { older(ctx, all) })
	})
}

const (
	// tried is how many generated strings of each kind the API server is asked about at most, others in each run: a kind that embeds
	// types of Kubernetes has thousands.
	tried = 500
	// worked is how many objects of each kind the operator meets that have generated strings.
	worked = 30
)

// generated makes objects of every kind with strings that are made from the schema itself. All that the API server would take can be
// decoded; some of them, others in each run, are created.
func generated(ctx context.Context, all []*kind) {
	GinkgoHelper()
	op := start()
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
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
		asked := made[:min(tried, len(made))]
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

// older puts into every kind what the parsers of its fields cannot read, as a schema without patterns would have let it in, while the operator runs;
// and starts the operator with it.
func older(ctx context.Context, all []*kind) {
	GinkgoHelper()
	restore := sync.OnceValue(func() error { return testenv.InstallDefinitions(Plane) })
	DeferCleanup(restore)
	loosen(ctx)
	op := start()
	var poisoned []client.Object
	clean := restarted(op, all)
	for _, k := range all {
		bad, namespace := 0, unique("g15-bad")
		k.surround(k.object(namespace))
		before := k.serves(nil)
		withPoison := k.goesOn(before, func() {
			for _, p := range k.places() {
				for _, s := range p.poison() {
					o := k.admitted(ctx, namespace, text{p.at, s})
					Expect(o).NotTo(BeNil(), "%s %v: %s", k.name, p.at, s)
					poisoned = append(poisoned, k.identity(o))
					bad++
				}
			}
		})
		if withoutParsers[k.name] == "" {
			Expect(bad).NotTo(BeZero(), "%s: see withoutParsers", k.name)
		}
		AddReportEntry(k.name+" continues", fmt.Sprintf("after %s, without poison after %s", withPoison, before))
		k.several(1, "g15-next", k.briefly)
		Eventually(func() float64 { return unreadable(k) }).Should(BeEquivalentTo(bad), k.name)
	}
	Expect(restore()).To(Succeed())
	startsInTime(op, all, clean)
	for _, k := range all {
		k.several(1, "g15-next", k.briefly)
	}
	for _, o := range poisoned {
		Eventually(EventsOf(o)).Should(ContainElement(HavePrefix("Warning Unreadable: The operator cannot decode this ")))
		Expect(logs.String()).To(ContainSubstring(o.GetName()))
		Remove(o) // the operator has made nothing for it, and holds nothing
		Eventually(Gone(o)).Should(Succeed())
	}
	for _, k := range all {
		Eventually(func() float64 { return unreadable(k) }).Should(BeZero(), k.name)
	}
}

// goesOnWithin is how much later than without poison an object may be served. It is compared with the same act in the same
// run, because how long that takes depends on the machine.
const goesOnWithin = 5 * time.Second

// tries are how often something may be late. Poison that holds a kind up does so each time; a machine that is busy with
// something else does not.
const tries = 3

// serves stores an object right after something else was done, and gives how long it takes until the operator has looked at it.
func (k *kind) serves(after func()) time.Duration {
	GinkgoHelper()
	o := k.object(unique("g15-serves"))
	k.briefly(o)
	k.surround(o)
	if after != nil {
		after()
	}
	began := time.Now()
	Create(o)
	discardLater(o)
	Eventually(lookedAt(o)).Should(Succeed())
	return time.Since(began).Round(time.Millisecond)
}

// lookedAt tells what is missing to an object that the operator has looked at.
func lookedAt(o engine.Object) func() error {
	return func() error {
		if err := Reload(o); err != nil {
			return err
		}
		if seen := o.CommonStatus().ObservedGeneration; seen != o.GetGeneration() {
			return fmt.Errorf("%s: generation %d was looked at, not %d", o.GetName(), seen, o.GetGeneration())
		}
		return nil
	}
}

// goesOn stores poison, and right after it an object, which has to be served in time.
func (k *kind) goesOn(before time.Duration, poison func()) time.Duration {
	GinkgoHelper()
	var took []time.Duration
	for range tries {
		took = append(took, k.serves(poison))
		if slices.Min(took) < before+goesOnWithin {
			return slices.Min(took)
		}
	}
	Fail(fmt.Sprintf("%s is held up: the next object is looked at after %v, without poison after %s", k.name, took, before))
	return 0
}

// startsInTime starts the operator with poison there.
func startsInTime(op *Operator, all []*kind, clean map[string]time.Duration) {
	GinkgoHelper()
	var late []string
	for range tries {
		late = nil
		for name, took := range restarted(op, all) {
			AddReportEntry(name+" starts", fmt.Sprintf("after %s, without poison after %s", took, clean[name]))
			if took >= clean[name]+goesOnWithin {
				late = append(late, fmt.Sprintf("%s after %s, without poison after %s", name, took, clean[name]))
			}
		}
		if len(late) == 0 {
			return
		}
	}
	Expect(late).To(BeEmpty(), "what is held up when the operator starts with poison")
}

// restarted restarts the operator, and gives for each kind how long it takes until the operator has looked at an object that
// was stored while it was away.
func restarted(op *Operator, all []*kind) map[string]time.Duration {
	GinkgoHelper()
	op.Stop()
	waiting := map[string]engine.Object{}
	for _, k := range all {
		o := k.object(unique("g15-waits"))
		k.briefly(o)
		k.surround(o)
		waiting[k.name] = Create(o)
		discardLater(o)
	}
	took := map[string]time.Duration{}
	began := time.Now()
	op.Start()
	for name, o := range waiting {
		Eventually(lookedAt(o)).Should(Succeed())
		took[name] = time.Since(began).Round(time.Millisecond)
	}
	return took
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

// loosen takes from the schemas of all kinds whatever a value may break, as if an older version had not had it.
func loosen(ctx context.Context) {
	GinkgoHelper()
	cl, err := client.New(Plane.Config, client.Options{Scheme: crdScheme()})
	Expect(err).NotTo(HaveOccurred())
	for _, definition := range readCRDs() {
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
