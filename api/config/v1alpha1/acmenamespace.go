/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package v1alpha1

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// AcmeNamespaceConfig configures the kind AcmeNamespace.
type AcmeNamespaceConfig struct {
	// MaxConcurrentReconciles is how many AcmeNamespaces are worked on at the same time. 1 to 100.
	// Default 10.
	// +optional
	MaxConcurrentReconciles *int32 `json:"maxConcurrentReconciles,omitempty"`

	// ProtectedNames are names of namespaces that nobody gets through an AcmeNamespace, besides those
	// that are always protected (default, kube-*, openshift-*, olm, operators and the operator's own
	// namespace). An entry is a name, or the beginning of names followed by `*`. Default none.
	// +optional
	ProtectedNames []string `json:"protectedNames,omitempty"`

	// Identity says who knows whether the administrator of an AcmeNamespace exists.
	// +optional
	Identity IdentityConfig `json:"identity,omitzero"`

	// Billing says who is told that a namespace was released.
	// +optional
	Billing BillingConfig `json:"billing,omitzero"`
}

const (
	defaultReconciles = 10
	maxReconciles     = 100
)

func (a *AcmeNamespaceConfig) setDefaults() {
	defaultPointer(&a.MaxConcurrentReconciles, defaultReconciles)
	a.Identity.setDefaults()
	a.Billing.setDefaults()
}

func (a *AcmeNamespaceConfig) validate(path *field.Path) field.ErrorList {
	errs := oneTo(path.Child("maxConcurrentReconciles"), *a.MaxConcurrentReconciles, maxReconciles)
	errs = append(errs, validateNamePatterns(path.Child("protectedNames"), a.ProtectedNames)...)
	errs = append(errs, a.Identity.validate(path.Child("identity"))...)
	return append(errs, a.Billing.validate(path.Child("billing"))...)
}

// nameBeginning is what may stand before the `*` of a pattern: the beginning of a DNS-1123 label.
var nameBeginning = regexp.MustCompile(`^[a-z0-9][-a-z0-9]*$`)

func validateNamePatterns(path *field.Path, patterns []string) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, pattern := range patterns {
		if seen[pattern] {
			errs = append(errs, field.Duplicate(path.Index(i), pattern))
		}
		seen[pattern] = true
		if !validNamePattern(pattern) {
			errs = append(errs, field.Invalid(path.Index(i), pattern,
				"must be a namespace name such as team-a, or the beginning of one with a * at the end such as team-*"))
		}
	}
	return errs
}

func validNamePattern(pattern string) bool {
	beginning, isPattern := strings.CutSuffix(pattern, "*")
	if isPattern {
		return nameBeginning.MatchString(beginning) && len(beginning) <= validation.DNS1123LabelMaxLength
	}
	return len(validation.IsDNS1123Label(pattern)) == 0
}
