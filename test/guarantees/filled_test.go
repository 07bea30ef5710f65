// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const (
	// filledWith begins each string of tenants'.
	filledWith = "g14-text"
	// cutAt is how many bytes of a string may be kept.
	cutAt = 200
	// maxHolders is of how many of the objects of a type the same string is kept at the most: what was looked at last is in buffers.
	maxHolders = swollen / 2
	// held is a finalizer that only the spec removes: what is deleted stays, and counts in no quota any more.
	held = "example.com/held"
	// leastFilled is how many strings of all types are filled at the least. 600 were.
	leastFilled = 400
	// maxLine is the longest line of the log, in bytes.
	maxLine = 16 << 10
)

// describeFilled has the part of G14 that is about each string, also short ones: of none is a metric made, and of none is much kept.
func describeFilled(all []*kind) {
	It("G14: keeps no text of tenants, and makes no metric of it", labels("G14", all), func(ctx context.Context) {
		op := start()
		watched := namespacedOnly(op.Wire.Watched())
		f := newFlood(all, watched)
		f.strings = []string{"metadata.ownerReferences.name of any type"}
		op.Stop()

		p := startProcess()
		before, _ := p.resident()
		// A dump of the heap needs memory itself: what is resident is asked before.
		small := func(when string) {
			GinkgoHelper()
			Eventually(func(g Gomega) { // what is looked at just now is in memory, too
				now, peak := p.resident()
				g.Expect(now-before).To(BeNumerically("<", maxResident), when)
				g.Expect(peak).To(BeNumerically("<", memoryLimit), "at most, "+when)
			}, "3m", "1s").Should(Succeed())
			now, peak := p.resident()
			AddReportEntry(when, fmt.Sprintf("grown by %.1f to %.0f MiB, peak %.0f MiB, metrics %s", now-before, now, peak, p.series()))
			Expect(p.series()).To(HaveSuffix(" 0 with text of tenants"), when)
			for line := range strings.Lines(p.log.String()) {
				Expect(len(line)).To(BeNumerically("<", maxLine), line[:min(len(line), 500)])
			}
		}
		keepsNone := func(when string) {
			GinkgoHelper()
			Eventually(func() map[string]int { return p.keeps(f.strings) }, "3m", "1s").Should(BeEmpty(), when+": of how many objects a string is kept")
		}
		f.come()
		var filled []client.Object
		for _, r := range watched {
			filled = append(filled, f.pour(ctx, r, f.filledBody(ctx, r), f.hold)...)
		}
		Expect(len(f.strings)).To(BeNumerically(">", leastFilled), "strings of all types that are filled")
		small("while they are there")
		for _, o := range filled {
			Expect(client.IgnoreNotFound(Admin.Delete(ctx, o))).To(Succeed())
		}
		small("while they are held")
		keepsNone("while they are held")
		p.stop()
		p = startProcess()
		small("started with them there")
		keepsNone("started with them there")
		for _, o := range filled {
			letGo(ctx, o)
		}
		keepsNone("once they are gone")
	})
}

// hold has an object that is deleted stay, and makes its texts those of its tenant.
func (f *flood) hold(o *unstructured.Unstructured) {
	GinkgoHelper()
	o.SetFinalizers([]string{held})
	owner := o.GetOwnerReferences()[0] // of a kind that Kubernetes does not know, so that it removes nothing
	owner.APIVersion, owner.Kind, owner.Name = "example.com/v1", "Unknown", longText(o.GetNamespace())+"0."+strings.Repeat("x", swollenSize/10)
	o.SetOwnerReferences([]metav1.OwnerReference{owner})
	text, err := o.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	text = bytes.ReplaceAll(text, []byte(longText("anybody")), []byte(longText(o.GetNamespace())))
	Expect(o.UnmarshalJSON(text)).To(Succeed())
}

// longText is how a text of a tenant's begins that may be kept nowhere.
func longText(tenant string) string { return filledWith + "." + tenant + "." }

// keeps are those strings which the operator has in memory of more objects than it may, with how many those are.
func (p *process) keeps(names []string) map[string]int {
	GinkgoHelper()
	dump := p.dump()
	of := map[string]map[string]bool{}
	begin, kept := []byte(filledWith+"."), bytes.Repeat([]byte("x"), cutAt)
	for at := bytes.Index(dump, begin); at >= 0; at = bytes.Index(dump, begin) {
		dump = dump[at+len(begin):]
		head := dump[:min(len(dump), 200)]
		tenant, rest, _ := bytes.Cut(head, []byte("."))
		number, _, found := bytes.Cut(rest, []byte("."))
		i, err := strconv.Atoi(string(number))
		if !found || err != nil || i >= len(names) || !bytes.HasPrefix(dump[len(tenant)+len(number)+2:], kept) {
			continue
		}
		if of[names[i]] == nil {
			of[names[i]] = map[string]bool{}
		}
		of[names[i]][string(tenant)] = true
	}
	many := map[string]int{}
	for name, tenants := range of {
		if len(tenants) > maxHolders {
			many[name] = len(tenants)
		}
	}
	return many
}

// letGo lets an object go that a finalizer of the spec holds.
func letGo(ctx context.Context, o client.Object) {
	GinkgoHelper()
	Eventually(func() error {
		if err := Admin.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return client.IgnoreNotFound(err)
		}
		old := o.DeepCopyObject().(client.Object)
		if !controllerutil.RemoveFinalizer(o, held) {
			return nil
		}
		return client.IgnoreNotFound(Admin.Patch(ctx, o, client.MergeFromWithOptions(old, client.MergeFromWithOptimisticLock{})))
	}).Should(Succeed())
}

// filledBody is an object of a type with a text in each string that the API server lets be one, as long as it lets it be.
func (f *flood) filledBody(ctx context.Context, gvr schema.GroupVersionResource) *unstructured.Unstructured {
	GinkgoHelper()
	o := f.plain(gvr)
	o.SetNamespace(tenant(0))
	o.SetName("filled")
	takes := func(o *unstructured.Unstructured) bool {
		return Admin.Create(ctx, o.DeepCopy(), client.DryRunAll) == nil
	}
	Expect(takes(o)).To(BeTrue(), "%s: the object without any text", gvr)
	filled := func(at field, text string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: put(o.DeepCopy().Object, at, text).(map[string]any)}
	}
	fields := stringsOf(o, f.kinds)
	long := slices.DeleteFunc(slices.Clone(fields), func(at field) bool { return !takes(filled(at, longText("anybody")+strings.Repeat("x", 2*cutAt))) })
	used := map[bool]int{}
	for _, at := range fields { // those that exclude each other get none
		isLong := slices.ContainsFunc(long, func(l field) bool { return slices.Equal(l, at) })
		text := filledWith
		if isLong {
			text = fmt.Sprintf("%s%d.%s", longText("anybody"), len(f.strings), strings.Repeat("x", swollenSize*8/10/len(long)))
		}
		if larger := filled(at, text); takes(larger) {
			o = larger
			f.strings = append(f.strings, gvr.Resource+" "+strings.Join(at, "."))
			used[isLong]++
		}
	}
	AddReportEntry(gvr.Resource, fmt.Sprintf("%d strings, of which %d are filled with a long text and %d with a short one", len(fields), used[true], used[false]))
	return o
}

// plain is a small object of a type, without its name.
func (f *flood) plain(gvr schema.GroupVersionResource) *unstructured.Unstructured {
	GinkgoHelper()
	for _, k := range f.kinds {
		if k.gvk.Group == gvr.Group && k.plural() == gvr.Resource {
			return k.filled(k.object("plain"), tenant(0))
		}
	}
	build, known := bodies[gvr.GroupResource().String()]
	Expect(known).To(BeTrue(), "bodies has no line for %s, which the operator watches", gvr)
	gvk, err := Admin.RESTMapper().KindFor(gvr)
	Expect(err).NotTo(HaveOccurred())
	o := &unstructured.Unstructured{Object: build(20_000)}
	o.SetGroupVersionKind(gvk)
	return o
}

// put gives a value with a string put at a place below it, and leaves the rest of it. Elements of lists that it makes are named.
func put(value any, at field, text string) any {
	if len(at) == 0 {
		return text
	}
	if at[0] == "[]" {
		list, _ := value.([]any)
		if len(list) == 0 {
			element := put(nil, at[1:], text)
			if m, ok := element.(map[string]any); ok && m["name"] == nil {
				m["name"] = "named"
			}
			return []any{element}
		}
		return append([]any{put(list[0], at[1:], text)}, list[1:]...)
	}
	m, ok := value.(map[string]any)
	if !ok {
		m = map[string]any{}
	}
	switch at[0] {
	case "{}":
		m["key"] = put(m["key"], at[1:], text)
	case "{key}":
		m[text] = "1"
	default:
		m[at[0]] = put(m[at[0]], at[1:], text)
	}
	return m
}

// stringsOf are the places of an object that take a string, but for its metadata and its status.
func stringsOf(o *unstructured.Unstructured, kinds []*kind) (all []field) {
	GinkgoHelper()
	for _, k := range kinds {
		if k.gvk.Group != "" && k.gvk == o.GroupVersionKind() {
			return k.stringFields()
		}
	}
	typed, err := Admin.Scheme().New(o.GroupVersionKind())
	Expect(err).NotTo(HaveOccurred())
	t := reflect.TypeOf(typed).Elem()
	for i := range t.NumField() {
		switch name := jsonName(t.Field(i)); name {
		case "", "metadata", "status":
		default:
			all = append(all, stringsBelow(t.Field(i).Type, field{name})...)
		}
	}
	return all
}

// stringsBelow are the places of a type of Go's that take a string in JSON.
func stringsBelow(t reflect.Type, at field) []field {
	here := func(more string) field { return append(at[:len(at):len(at)], more) }
	switch {
	case t == reflect.TypeFor[intstr.IntOrString]() || t.Kind() == reflect.String:
		return []field{at}
	case t.Implements(reflect.TypeFor[interface{ UnmarshalJSON([]byte) error }]()),
		reflect.PointerTo(t).Implements(reflect.TypeFor[interface{ UnmarshalJSON([]byte) error }]()):
		return nil // an amount, a time, or anything at all
	case t.Kind() == reflect.Pointer:
		return stringsBelow(t.Elem(), at)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return nil
	case t.Kind() == reflect.Slice:
		return stringsBelow(t.Elem(), here("[]"))
	case t.Kind() == reflect.Map:
		return append(stringsBelow(t.Elem(), here("{}")), here("{key}"))
	case t.Kind() != reflect.Struct:
		return nil
	}
	var all []field
	for i := range t.NumField() {
		switch name := jsonName(t.Field(i)); {
		case name != "":
			all = append(all, stringsBelow(t.Field(i).Type, here(name))...)
		case t.Field(i).Anonymous:
			all = append(all, stringsBelow(t.Field(i).Type, at)...)
		}
	}
	return all
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

func each(n int, element func(i int) any) []any {
	var all []any
	for i := range n {
		all = append(all, element(i))
	}
	return all
}
