// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/acme/platform-operator/config/crd"
	"github.com/acme/platform-operator/config/policy"
	"github.com/acme/platform-operator/config/rbac"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
)

// parse reads the objects of manifests that this program holds.
func parse(text []byte) (all []*unstructured.Unstructured) {
	for d := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096); ; {
		o := &unstructured.Unstructured{}
		switch err := d.Decode(o); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			panic(fmt.Sprintf("a manifest of this program cannot be read: %v", err))
		case len(o.Object) > 0:
			all = append(all, o)
		}
	}
}

func parseAll(files fs.FS) (all []*unstructured.Unstructured) {
	err := fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, path)
		all = append(all, parse(text)...)
		return err
	})
	if err != nil {
		panic(fmt.Sprintf("a manifest of this program cannot be read: %v", err))
	}
	return all
}

// What this version ships, read once.
var (
	shippedDefinitions = sync.OnceValue(func() []*unstructured.Unstructured { return parseAll(crd.Bases) })
	shippedPolicies    = sync.OnceValue(policies)
)

// policies are the admission policies and their bindings, under the names that kustomize gives them.
func policies() []*unstructured.Unstructured {
	all := parseAll(policy.All)
	for _, o := range all {
		o.SetName(names.Operator + "-" + o.GetName())
		if name := text(o, "spec", "policyName"); name != "" {
			_ = unstructured.SetNestedField(o.Object, names.Operator+"-"+name, "spec", "policyName") // it is a field of an object
		}
	}
	return all
}

// Schema is that of a kind in this version; nil if it does not know the kind. Of a kind with several versions it is that of the one that
// is asked for, else of the first.
func Schema(gvk schema.GroupVersionKind) (found map[string]any) {
	for _, d := range shippedDefinitions() {
		if text(d, "spec", "names", "kind") != gvk.Kind || text(d, "spec", "group") != gvk.Group {
			continue
		}
		for _, v := range fieldsOf(d.Object, "spec", "versions") {
			if found == nil || v["name"] == gvk.Version {
				is, _, _ := unstructured.NestedFieldNoCopy(v, "schema", "openAPIV3Schema")
				found, _ = is.(map[string]any)
			}
		}
	}
	return found
}

// checkDefinitions compares the kinds and their schemas with those of this version.
func checkDefinitions(i Installation, _ time.Time) (all []Finding) {
	const check = "kinds"
	live := map[string]*unstructured.Unstructured{}
	for _, d := range i.Definitions.Value {
		live[d.GetName()] = d
	}
	var differ []string
	for _, want := range shippedDefinitions() {
		kind, group := text(want, "spec", "names", "kind"), text(want, "spec", "group")
		is := live[want.GetName()]
		switch {
		case !i.serves(kind, group):
			all = append(all, Finding{
				check, i.brokenUnlessOther(), "the kind " + kind + " is not served",
				"install its CustomResourceDefinition " + want.GetName() + why(is),
			})
		case is != nil && !sameSchemas(want, is):
			differ = append(differ, want.GetName())
		}
	}
	if i.Definitions.Err != nil {
		return append(all, unread(check, "CustomResourceDefinitions", i.Definitions.Err)...)
	}
	if len(differ) > 0 {
		all = append(all, Finding{
			check, Warning, "the schemas of these are not those of the version of this plugin: " + someOf(differ),
			"install the CustomResourceDefinitions of the operator's version, all of one, and the plugin of that version",
		})
	}
	if len(all) == 0 {
		all = append(all, ok(check, "all %d are served, with the schemas of this version", len(i.Kinds)))
	}
	return all
}

// why is the condition that keeps a definition from being served.
func why(definition *unstructured.Unstructured) string {
	if definition == nil {
		return ""
	}
	for _, c := range plugin.Conditions(definition) {
		if (c.Type == "Established" || c.Type == "NamesAccepted") && c.Status != "True" {
			return ", which exists and is not established: " + c.Message
		}
	}
	return ", which exists"
}

func (i Installation) serves(kind, group string) bool {
	return slices.ContainsFunc(i.Kinds, func(k plugin.Kind) bool { return k.Kind == kind && k.Group == group })
}

// sameSchemas reports whether two definitions have the same versions with the same schemas.
func sameSchemas(a, b *unstructured.Unstructured) bool {
	schemas := func(o *unstructured.Unstructured) map[string]any {
		all := map[string]any{}
		for _, v := range fieldsOf(o.Object, "spec", "versions") {
			all[fmt.Sprint(v["name"])], _, _ = unstructured.NestedFieldNoCopy(v, "schema", "openAPIV3Schema")
		}
		return all
	}
	return equal(schemas(a), schemas(b))
}

// equal compares decoded JSON; numbers are equal if their values are.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, isMap := b.(map[string]any)
		return isMap && maps.EqualFunc(a, b, equal)
	case []any:
		b, isList := b.([]any)
		return isList && slices.EqualFunc(a, b, equal)
	}
	return plainOf(a) == plainOf(b) && (a == nil) == (b == nil)
}

// plainOf is a plain value of which two are equal if they mean the same; it is nil for a map or a list.
func plainOf(value any) any {
	switch value := value.(type) {
	case int64:
		return float64(value)
	case float64, string, bool:
		return value
	}
	return nil
}

// within reports whether all of one value is in another one, which the API server may have completed.
func within(want, is any) bool {
	switch want := want.(type) {
	case map[string]any:
		is, isMap := is.(map[string]any)
		for key, value := range want {
			if !isMap || !within(value, is[key]) {
				return false
			}
		}
		return isMap
	case []any:
		is, isList := is.([]any)
		return isList && slices.EqualFunc(want, is, within)
	case string:
		is, isText := is.(string)
		return isText && strings.TrimSpace(policy.OneLine(want)) == strings.TrimSpace(policy.OneLine(is))
	}
	return equal(want, is)
}

// checkPolicies looks for the admission policies and their bindings, and compares them with those of this version.
func checkPolicies(i Installation, _ time.Time) (all []Finding) {
	const check = "policies"
	if i.Policies.Err != nil {
		return unread(check, "ValidatingAdmissionPolicies", i.Policies.Err)
	}
	if i.Bindings.Err != nil {
		return unread(check, "ValidatingAdmissionPolicyBindings", i.Bindings.Err)
	}
	live := map[string]*unstructured.Unstructured{}
	for _, o := range slices.Concat(i.Policies.Value, i.Bindings.Value) {
		live[o.GetKind()+" "+o.GetName()] = o
	}
	for _, want := range shippedPolicies() {
		name := want.GetKind() + " " + want.GetName()
		switch is := live[name]; {
		case is == nil:
			all = append(all, Finding{
				check, i.brokenUnlessOther(), "the " + name + " is not installed, so that tenants may do what they should not",
				"install config/policy of the operator's version",
			})
		case !within(want.Object["spec"], is.Object["spec"]):
			all = append(all, Finding{
				check, Warning, "the " + name + " is not that of the version of this plugin", "install config/policy of the operator's version",
			})
		}
	}
	if len(all) == 0 {
		all = append(all, ok(check, "all %d policies and bindings are in place", len(shippedPolicies())))
	}
	return all
}

// Right is something that the operator has to be allowed to.
type Right struct {
	// Namespace is the operator's, or empty for everywhere.
	Namespace, Verb, Group, Resource, Subresource, Name string
}

// String describes the right.
func (r Right) String() string {
	what := r.Resource
	if r.Subresource != "" {
		what += "/" + r.Subresource
	}
	if r.Group != "" {
		what += "." + r.Group
	}
	return strings.TrimSpace(r.Verb + " " + what + " " + r.Name)
}

// Rights are all that an operator of this version needs, in a namespace of its own.
func Rights(namespace string) (all []Right) {
	for _, role := range append(parse(rbac.Manager), parse(rbac.LeaderElection)...) {
		in := ""
		if role.GetKind() == "Role" {
			in = namespace
		}
		for _, rule := range fieldsOf(role.Object, "rules") {
			all = append(all, rightsOf(rule, in)...)
		}
	}
	return all
}

func rightsOf(rule map[string]any, namespace string) (all []Right) {
	list := func(field string) []string {
		texts, _, _ := unstructured.NestedStringSlice(rule, field)
		return texts
	}
	named := list("resourceNames")
	if len(named) == 0 {
		named = []string{""}
	}
	for _, group := range list("apiGroups") {
		for _, resource := range list("resources") {
			resource, subresource, _ := strings.Cut(resource, "/")
			for _, verb := range list("verbs") {
				for _, name := range named {
					all = append(all, Right{namespace, verb, group, resource, subresource, name})
				}
			}
		}
	}
	return all
}
