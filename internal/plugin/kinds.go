// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin is what the kubectl plugin decides and prints, as pure functions over objects that were fetched. It knows
// no kind: kinds come from the API server's discovery, facts from printer columns, and ways out from the documentation. So it
// works with an operator that is older or newer than itself.
package plugin

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// category is that of all kinds of the operator; domain is the end of their API groups.
const (
	category = "acme"
	domain   = ".acme.com"
)

// IsOurs reports whether an API group is one of the operator's.
func IsOurs(group string) bool { return strings.HasSuffix(group, domain) }

// Kind is a type of object that the API server serves.
type Kind struct {
	schema.GroupVersionResource
	// Kind is its name in manifests.
	Kind string
	// Names are the words by which users call it, in lower case.
	Names []string
	// Namespaced is whether its objects are in namespaces, Status whether they have a status.
	Namespaced, Status bool
}

// Word is the name of the kind in commands, in lower case.
func (k Kind) Word() string { return strings.ToLower(k.Kind) }

// Kinds returns the operator's kinds among the resources that an API server lists, sorted by name. Of a kind with
// several versions it returns the one that is listed first, which is the one that the API server prefers.
func Kinds(lists []*metav1.APIResourceList) []Kind {
	var kinds []Kind
	for _, k := range Resources(lists) {
		if IsOurs(k.Group) && slices.Contains(k.Names, category) {
			k.Names = slices.DeleteFunc(k.Names, func(name string) bool { return name == category })
			kinds = append(kinds, k)
		}
	}
	slices.SortFunc(kinds, func(a, b Kind) int { return strings.Compare(a.Kind, b.Kind) })
	return kinds
}

// Resources returns every type that can be listed, each once. The names of a type include its categories.
func Resources(lists []*metav1.APIResourceList) []Kind {
	var all []Kind
	seen, withStatus := map[schema.GroupResource]bool{}, map[schema.GroupVersionResource]bool{}
	each(lists, func(gvr schema.GroupVersionResource, r metav1.APIResource) {
		if name, ok := strings.CutSuffix(r.Name, "/status"); ok {
			withStatus[gvr.GroupVersion().WithResource(name)] = true
		}
		if strings.Contains(r.Name, "/") || !slices.Contains(r.Verbs, "list") || seen[gvr.GroupResource()] {
			return
		}
		seen[gvr.GroupResource()] = true
		names := append([]string{strings.ToLower(r.Kind), r.Name, r.SingularName, r.Name + "." + gvr.Group}, r.ShortNames...)
		all = append(all, Kind{
			GroupVersionResource: gvr, Kind: r.Kind, Namespaced: r.Namespaced, Names: append(names, r.Categories...),
		})
	})
	for i := range all {
		all[i].Status = withStatus[all[i].GroupVersionResource]
	}
	return all
}

func each(lists []*metav1.APIResourceList, do func(schema.GroupVersionResource, metav1.APIResource)) {
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue // of another API, which is not ours to judge
		}
		for _, r := range list.APIResources {
			do(gv.WithResource(r.Name), r)
		}
	}
}

// Find returns the kind that a user calls by a word: its name, plural or short name, in upper or lower case.
func Find(kinds []Kind, word string) (Kind, error) {
	if len(kinds) == 0 {
		return Kind{}, ErrNoKinds
	}
	var words []string
	for _, k := range kinds {
		if word != "" && slices.Contains(k.Names, strings.ToLower(word)) {
			return k, nil
		}
		words = append(words, k.Word())
	}
	return Kind{}, fmt.Errorf("the operator has no kind %q here; choose one of %s", word, strings.Join(words, ", "))
}

// Target parses what a user asks for: KIND/NAME, or KIND and NAME.
func Target(args []string) (kind, name string, err error) {
	switch {
	case len(args) == 1:
		kind, name, _ = strings.Cut(args[0], "/")
	case len(args) == 2:
		kind, name = args[0], args[1]
	}
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", "", fmt.Errorf("%q is not KIND/NAME; write for instance crontab/nightly-report", strings.Join(args, " "))
	}
	return kind, name, nil
}
