// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// dose is how much is tried with strange strings.
type dose struct {
	seed int64
	// fields is about how many objects have one in a field of the spec, or how many could be made from the schema (G15).
	fields int
	// all tells that every field has one.
	all bool
	// marks is how many carry labels and annotations that the operator knows. Each carries about half of them, so that every mark
	// meets about half as many strings, and stands both with and without each of the others.
	marks int
}

// few are the same in each run.
func few() dose { return dose{seed: 1, fields: 40, marks: 4} }

// many are others for each seed.
func many() dose { return dose{seed: GinkgoRandomSeed(), fields: 1000, all: true, marks: 24} }

func (d dose) random() *rand.Rand { return rand.New(rand.NewPCG(uint64(d.seed), 0)) }

// describeHostile has G11.
func describeHostile(k *kind) {
	Describe("G11: serves the next object whatever is in the strings of others", Label("G11"), func() {
		describe := func(name string, amount func() dose, tier Labels) {
			if k.hasWebhook("G11") {
				It(name+" that the webhooks see", tier, func(ctx context.Context) { shown(ctx, k, amount()) })
			}
			It(name+" that the operator sees, without webhooks", tier, func(ctx context.Context) { stored(ctx, k, amount()) })
		}
		describe("some", few, nil)
		describe("many", many, Label(limit.Slow, limit.Random))
	})
}

// hostile are the strange strings of objects: in each field of the spec, in what the operator knows of the metadata, and as names.
type hostile struct{ spec, marks, names [][]text }

// hostile draws strings. A kind that embeds types of Kubernetes has hundreds of fields: then each meets some of the strings, or
// only some meet one.
func (k *kind) hostile(d dose) (h hostile) {
	GinkgoHelper()
	random := d.random()
	strings := nastyStrings(random)
	fields, marks := k.stringFields(), findMarks()
	Expect(fields).NotTo(BeEmpty())
	each := min(len(strings), max(1, d.fields/len(fields)))
	if !d.all {
		random.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		fields = fields[:min(d.fields, len(fields))]
	}
	for _, field := range fields {
		for _, i := range random.Perm(len(strings))[:each] {
			h.spec = append(h.spec, []text{{field, strings[i]}})
		}
	}
	for range d.marks {
		h.marks = append(h.marks, someMarks(random, marks, strings))
	}
	for _, name := range edgyNames(unique("g11")) {
		h.names = append(h.names, []text{{field{"metadata", "name"}, name}})
	}
	AddReportEntry("strings", fmt.Sprintf("%d fields and %d marks, %d strings", len(fields), len(marks), len(strings)))
	return h
}

// panicsIn fails if what is done makes the operator panic.
func (k *kind) panicsIn(do func()) {
	GinkgoHelper()
	panics := func() float64 {
		return metric("controller_runtime_reconcile_panics_total", "", "") + metric("controller_runtime_webhook_panics_total", "", "")
	}
	first := k.make(unique("g11-first"), k.briefly)
	Eventually(k.settled(first)).Should(Succeed()) // panics are counted from the first run on
	before := panics()
	do()
	Expect(panics()).To(Equal(before))
	Expect(logs.String()).NotTo(ContainSubstring("Observed a panic"))
	next := k.make(unique("g11-next"), k.briefly)
	Eventually(k.settled(next)).Should(Succeed())
}

// shown asks the API server whether it would create the objects: it asks the webhooks, and stores nothing.
func shown(ctx context.Context, k *kind, d dose) {
	GinkgoHelper()
	start(withWebhooks)
	k.panicsIn(func() {
		h, namespace, would := k.hostile(d), unique("g11-all"), 0
		k.surround(k.object(namespace))
		for _, texts := range slices.Concat(h.spec, h.marks, h.names) {
			if k.readable(ctx, namespace, texts...) {
				would++
			}
		}
		Expect(would).NotTo(BeZero())
		AddReportEntry("objects", fmt.Sprintf("%d would be admitted", would))
	})
}

// stored creates the objects. What the API server admits has to get an answer from the operator.
func stored(ctx context.Context, k *kind, d dose) {
	GinkgoHelper()
	start()
	k.panicsIn(func() {
		h, namespace := k.hostile(d), unique("g11-all") // one for all
		k.surround(k.object(namespace))
		var admitted []engine.Object
		for _, texts := range h.spec {
			if o := k.admitted(ctx, namespace, texts...); o != nil {
				admitted = append(admitted, o)
			}
		}
		if d.all { // of a few, the schema may refuse each
			Expect(admitted).NotTo(BeEmpty())
		}
		for _, texts := range slices.Concat(h.marks, h.names) {
			o := k.admitted(ctx, namespace, texts...)
			Expect(o).NotTo(BeNil(), "the schema says nothing of names, labels and annotations: %v", texts)
			admitted = append(admitted, o)
		}
		AddReportEntry("objects", fmt.Sprintf("%d admitted", len(admitted)))
		next := k.make(unique("g11-next"), k.briefly)
		Eventually(k.settled(next)).Should(Succeed())
		for _, o := range admitted {
			Eventually(func(g Gomega) {
				g.Expect(ready(o).Reason).NotTo(BeEmpty())
				g.Expect(o.CommonStatus().ObservedGeneration).To(Equal(o.GetGeneration()))
			}).Should(Succeed(), func() string { return fmt.Sprintf("%+v", o) })
		}
	})
}

// nastyStrings are strings that have broken programs, and some random ones.
func nastyStrings(r *rand.Rand) []string {
	all := []string{
		"", " ", "a", "A", "-", "--help", "..", "../../etc/passwd", "a/b", "a/b/c", "*", "a:b:c:d:e", "a,b", "a=b", "a b",
		"\x00", "a\x00b", "a\nb: c", "\x7f", "\u200b", "\u202etxet", "\ufeffa", "ä", "e\u0301", "漢字", "🦄", "\U0010ffff", "\ufffd",
		"null", "-1", "0x10", "1e400", "NaN", "-1Gi", "99999999999999999999",
		"%s%n%d", "{{.}}", "$(id)", "';--", "<a href=x>", `\`, `"`, `\u0000`,
		"system:masters", "system:serviceaccount:a:b", "kube-system", "openshift-a", "admin", "kubernetes.io/a", "a.acme.com/b",
		strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 253), strings.Repeat("ä", 256), strings.Repeat("a", 10000),
		strings.Repeat("a.", 126) + "a", strings.Repeat("(", 300),
	}
	for range 10 {
		b := &strings.Builder{}
		for range 1 + r.IntN(40) {
			b.WriteRune([]rune{rune(r.IntN(128)), rune(r.IntN(0xd800)), rune(0x10000 + r.IntN(0xfffff))}[r.IntN(3)])
		}
		all = append(all, b.String())
	}
	return all
}

// edgyNames are names as long as the API server takes them, at the limits of what is made of them, and of every form.
func edgyNames(unique string) []string {
	long := func(n int) string { return unique + strings.Repeat("a", n-len(unique)) }
	return []string{
		unique + ".a.b", unique + "--b", "0." + unique, "0-" + unique, "xn--" + unique, "kube-" + unique, unique + ".svc.cluster.local",
		long(52), long(53), long(63), long(64), long(253), unique + strings.Repeat(".a", (253-len(unique))/2),
	}
}

// ownKey is a key of a label or an annotation in the operator's code.
var ownKey = regexp.MustCompile(`"([a-z.]+\.acme\.com/[A-Za-z-]+)"|restartPrefix \+ "([A-Za-z-]+)"`)

// findMarks gives the annotations and labels with the keys that the operator knows, found in its code so that none is forgotten.
func findMarks() []field {
	GinkgoHelper()
	keys := map[string]bool{}
	Expect(filepath.WalkDir(testenv.RepoFile("internal"), func(path string, _ os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, found := range ownKey.FindAllStringSubmatch(string(text), -1) {
			if found[2] != "" {
				found[1] = "autoreboot.acme.com/" + found[2]
			}
			keys[found[1]] = true
		}
		return err
	})).To(Succeed())
	Expect(keys).To(And(HaveKey(names.AnnotationOwner), HaveKey(names.AnnotationPodSelector), HaveKey(names.AnnotationRunNow)))
	var all []field
	for _, key := range sortedKeys(keys) {
		all = append(all, field{"metadata", "annotations", key}, field{"metadata", "labels", key})
	}
	return all
}

// someMarks are about half of the marks, each with some string that Kubernetes takes there.
func someMarks(r *rand.Rand, marks []field, all []string) []text {
	values := slices.DeleteFunc(slices.Clone(all), func(s string) bool { return len(validation.IsValidLabelValue(s)) > 0 })
	var some []text
	for _, mark := range marks {
		from := all
		if mark[1] == "labels" {
			from = values
		}
		if r.IntN(2) == 0 {
			some = append(some, text{mark, from[r.IntN(len(from))]})
		}
	}
	return some
}

// text is a string, and where it stands.
type text struct {
	at field
	s  string
}

// field is where a string stands: the names of properties; "[]" is an element of a list, "{}" a value of
// a map, and "{key}" a key of it.
type field []string

// stringFields are all places in the spec that take a string.
func (k *kind) stringFields() []field {
	GinkgoHelper()
	if k.gvk.Group == "" {
		return annotatedFields()
	}
	cl, err := client.New(Plane.Config, client.Options{Scheme: crdScheme()})
	Expect(err).NotTo(HaveOccurred())
	crd := &apiextensionsv1.CustomResourceDefinition{}
	Expect(cl.Get(context.Background(), client.ObjectKey{Name: k.crdName()}, crd)).To(Succeed())
	var fields []field
	for _, v := range crd.Spec.Versions {
		if v.Name == k.gvk.Version {
			fields = walk(v.Schema.OpenAPIV3Schema.Properties["spec"], field{"spec"})
		}
	}
	return fields
}

func walk(s apiextensionsv1.JSONSchemaProps, at field) []field {
	here := func(more string) field { return append(at[:len(at):len(at)], more) }
	switch {
	case s.Type == "string" || s.XIntOrString:
		return []field{at}
	case s.Type == "array" && s.Items != nil && s.Items.Schema != nil:
		return walk(*s.Items.Schema, here("[]"))
	case s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil:
		return append(walk(*s.AdditionalProperties.Schema, here("{}")), here("{key}"))
	}
	var all []field
	for _, name := range sortedKeys(s.Properties) {
		all = append(all, walk(s.Properties[name], here(name))...)
	}
	return all
}

// with gives a value with a string put at a place below it.
func with(value any, at field, s string) any {
	if len(at) == 0 {
		return s
	}
	switch at[0] {
	case "[]":
		return []any{with(nil, at[1:], s)}
	case "{}":
		return map[string]any{"key": with(nil, at[1:], s)}
	case "{key}":
		return map[string]any{s: "1"}
	}
	m, ok := value.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	m[at[0]] = with(m[at[0]], at[1:], s)
	return m
}

// admitted creates the sample with some strings in it, and gives it when the API server takes it.
func (k *kind) admitted(ctx context.Context, namespace string, texts ...text) engine.Object {
	GinkgoHelper()
	o := k.object(unique("g11"))
	u := k.filled(o, namespace, texts...)
	if Admin.Create(ctx, u) != nil {
		return nil
	}
	o.SetName(u.GetName())
	discardLater(o)
	return o
}

// filled is an object with some strings in it.
func (k *kind) filled(o engine.Object, namespace string, texts ...text) *unstructured.Unstructured {
	GinkgoHelper()
	if o.GetNamespace() != "" {
		o.SetNamespace(namespace)
	}
	k.briefly(o)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	Expect(err).NotTo(HaveOccurred())
	for _, t := range texts {
		content = with(content, t.at, t.s).(map[string]any)
	}
	u := &unstructured.Unstructured{Object: content}
	u.SetGroupVersionKind(k.gvk)
	return u
}
