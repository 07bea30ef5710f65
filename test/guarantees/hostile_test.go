// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"encoding/json"
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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// describeHostile has G11.
func describeHostile(k *kind) {
	Describe("G11: serves the next object whatever is in the strings of others", Label("G11"), func() {
		if k.hasWebhook("G11") {
			It("with webhooks", func(ctx context.Context) {
				f := begin(k, withWebhooks)
				f.asked(ctx)
				f.end(ctx)
			})
		}
		It("without webhooks", func(ctx context.Context) {
			f := begin(k)
			f.created(ctx)
			f.marked(ctx)
			f.end(ctx)
		})
	})
}

// maxFuzzed is about how many objects are tried with strange strings.
const maxFuzzed = 1000

// stringsOfAMark is how many strings each label and annotation meets that the operator knows.
const stringsOfAMark = 3

// fuzz tries objects of a kind with nasty strings. What the API server stores has to get an answer from the operator.
type fuzz struct {
	k         *kind
	namespace string // one for all
	random    *rand.Rand
	strings   []string
	// of is how many strings each field meets: a kind that embeds types of Kubernetes has hundreds of fields.
	fields []field
	of     int
	before float64 // panics

	tried, admitted int
	stored          []engine.Object
}

func begin(k *kind, mutate ...func(*operator.Options)) *fuzz {
	GinkgoHelper()
	start(mutate...)
	first := k.make(unique("g11-first"), k.briefly)
	Eventually(k.settled(first)).Should(Succeed()) // panics are counted from the first run on
	f := &fuzz{k: k, namespace: unique("g11-all"), fields: k.stringFields(), before: panics()}
	Expect(f.fields).NotTo(BeEmpty())
	f.random = rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
	f.strings = nastyStrings(f.random)
	f.of = min(len(f.strings), max(1, maxFuzzed/len(f.fields)))
	k.surround(k.object(f.namespace))
	return f
}

func panics() float64 {
	GinkgoHelper()
	return metric("controller_runtime_reconcile_panics_total", "", "") + metric("controller_runtime_webhook_panics_total", "", "")
}

// some are n of the strings.
func (f *fuzz) some(n int) []string {
	var all []string
	for _, i := range f.random.Perm(len(f.strings))[:n] {
		all = append(all, f.strings[i])
	}
	return all
}

// create creates the sample with a string in a field, and tells whether the API server takes it.
func (f *fuzz) create(ctx context.Context, at field, s string, opts ...client.CreateOption) bool {
	GinkgoHelper()
	o := f.k.admitted(ctx, f.namespace, at, s, opts...)
	f.tried++
	if o != nil {
		f.admitted++
	}
	if o != nil && len(opts) == 0 {
		f.stored = append(f.stored, o)
	}
	return o != nil
}

// created creates an object for every string field and every nasty string.
func (f *fuzz) created(ctx context.Context) {
	GinkgoHelper()
	for _, at := range f.fields {
		for _, s := range f.some(f.of) {
			f.create(ctx, at, s)
		}
	}
}

// asked has the webhooks see every field and mark with nasty strings. What they let through the operator sees without them as
// well: of each field one object is stored, for the others the API server only asks them.
func (f *fuzz) asked(ctx context.Context) {
	GinkgoHelper()
	only := 0
	for n, at := range slices.Concat(f.fields, marks()) {
		of, stored := f.of, false
		if n >= len(f.fields) {
			of = min(of, stringsOfAMark)
		}
		for _, s := range f.some(of) {
			if !stored {
				stored = f.create(ctx, at, s)
			} else if f.create(ctx, at, s, client.DryRunAll) {
				only++
			}
		}
	}
	Expect(only).NotTo(BeZero(), "nothing gets to the webhooks that is not stored")
}

// marked has an object for each label and annotation that the operator knows meet some strings: the first with which the API
// server stores it, and then one after the other, each of which the operator has to look at.
func (f *fuzz) marked(ctx context.Context) {
	GinkgoHelper()
	var objects []engine.Object
	var at []field
	left := make([][]string, 0, stringsOfAMark)
	for _, mark := range marks() {
		all := f.some(min(f.of, stringsOfAMark))
		for i, s := range all {
			if f.create(ctx, mark, s) {
				objects, at, left = append(objects, f.stored[len(f.stored)-1]), append(at, mark), append(left, all[i+1:])
				break
			}
		}
	}
	for round := range stringsOfAMark {
		before, n := runs([]*kind{f.k}), 0
		for i, o := range objects {
			if round < len(left[i]) && f.mark(ctx, o, at[i], left[i][round]) {
				n++
			}
		}
		caughtUp([]*kind{f.k}, before, n)
	}
}

// mark puts a string into a label or an annotation of an object, and something that makes the operator look.
func (f *fuzz) mark(ctx context.Context, o engine.Object, at field, s string) bool {
	GinkgoHelper()
	f.tried++
	poke := field{"metadata", "annotations", "others.example.com/poke"}
	patch, err := json.Marshal(with(with(nil, poke, fmt.Sprint(f.tried)), at, s))
	Expect(err).NotTo(HaveOccurred())
	if Admin.Patch(ctx, o, client.RawPatch(client.Merge.Type(), patch)) != nil {
		return false
	}
	f.admitted++
	return true
}

// end expects an answer for everything that is stored, and that the operator goes on.
func (f *fuzz) end(ctx context.Context) {
	GinkgoHelper()
	k := f.k
	Expect(f.stored).NotTo(BeEmpty())
	for _, name := range edgyNames(unique("g11")) {
		Expect(f.create(ctx, field{"metadata", "name"}, name)).To(BeTrue(), "the schema says nothing of names: "+name)
	}
	AddReportEntry("strings", fmt.Sprintf("%d fields and %d marks, %d strings, %d tried, %d admitted, %d objects stored",
		len(f.fields), len(marks()), len(f.strings), f.tried, f.admitted, len(f.stored)))

	next := k.make(unique("g11-next"), k.briefly)
	Eventually(k.settled(next)).Should(Succeed())
	for _, o := range f.stored {
		Eventually(func(g Gomega) {
			g.Expect(ready(o).Reason).NotTo(BeEmpty())
			g.Expect(o.CommonStatus().ObservedGeneration).To(Equal(o.GetGeneration()))
		}).Should(Succeed(), func() string { return fmt.Sprintf("%+v", o) })
	}
	Expect(panics()).To(Equal(f.before))
	Expect(logs.String()).NotTo(ContainSubstring("Observed a panic"))
	next = k.make(unique("g11-next"), k.briefly)
	Eventually(k.settled(next)).Should(Succeed())
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

// marks are the annotations and labels with the keys that the operator knows, found in its code so that none is forgotten.
func marks() []field {
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

// admitted creates the sample with a string in a field, and gives it when the API server takes it.
func (k *kind) admitted(ctx context.Context, namespace string, at field, s string, opts ...client.CreateOption) engine.Object {
	GinkgoHelper()
	o := k.object(unique("g11"))
	if o.GetNamespace() != "" {
		o.SetNamespace(namespace)
	}
	k.briefly(o)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	Expect(err).NotTo(HaveOccurred())
	u := &unstructured.Unstructured{Object: with(content, at, s).(map[string]any)}
	u.SetGroupVersionKind(k.gvk)
	if Admin.Create(ctx, u, opts...) != nil {
		return nil
	}
	o.SetName(u.GetName())
	if len(opts) == 0 {
		discardLater(o)
	}
	return o
}
