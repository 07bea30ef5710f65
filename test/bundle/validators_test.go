// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package bundle

import (
	"strings"
	"testing"

	"github.com/operator-framework/api/pkg/validation"
	interfaces "github.com/operator-framework/api/pkg/validation/interfaces"
)

// kubernetesVersion is the newest Kubernetes that the validators of removed APIs are asked about.
const kubernetesVersion = "1.36"

// validators are those that apply to a bundle of ours. Not among them: those of package manifests and
// OperatorGroups, of which there are none; the one of several architectures, which pulls images; and the
// deprecated ones, whose place others have taken.
var validators = map[string]interfaces.Validator{
	"ClusterServiceVersion":    validation.ClusterServiceVersionValidator,
	"CustomResourceDefinition": validation.CustomResourceDefinitionValidator,
	"Bundle":                   validation.BundleValidator,
	"OperatorHubV2":            validation.OperatorHubV2Validator,
	"StandardCategories":       validation.StandardCategoriesValidator,
	"StandardCapabilities":     validation.StandardCapabilitiesValidator,
	"Object":                   validation.ObjectValidator,
	"AlphaDeprecatedAPIs":      validation.AlphaDeprecatedAPIsValidator,
	"GoodPractices":            validation.GoodPracticesValidator,
}

// knownWarning tells of a warning that is wrong: the validator of removed APIs does not see versions in
// permissions, and warns of events.k8s.io/v1 as well as of the v1beta1 that was removed. The one of objects warns of a Role that may create
// PodDisruptionBudgets, which could prevent drains: those of schedulers always let one pod be evicted, and are in the operator's namespace.
func knownWarning(message string) bool {
	return strings.Contains(message, "Migrate the API(s) for events: ") && strings.Contains(message, "Permissions") ||
		strings.Contains(message, "RBAC includes permission to create/update poddisruptionbudgets")
}

// TestValidators finds errors and warnings. That operator-sdk, which those run who take bundles in, finds no error is what
// `make bundle-check` shows.
func TestValidators(t *testing.T) {
	for name, validator := range validators {
		t.Run(name, func(t *testing.T) {
			b := load(t)
			objects := b.ObjectsToValidate()
			for _, crd := range b.V1CRDs {
				objects = append(objects, crd)
			}
			for _, object := range b.Objects {
				objects = append(objects, object)
			}
			objects = append(objects, b, b.CSV, map[string]string{"k8s-version": kubernetesVersion})
			results := validator.Validate(objects...)
			if len(results) == 0 {
				t.Fatal("it looked at nothing")
			}
			for _, result := range results {
				for _, e := range result.Errors {
					t.Errorf("error about %s: %s", result.Name, e.Error())
				}
				for _, w := range result.Warnings {
					if !knownWarning(w.Error()) {
						t.Errorf("warning about %s: %s", result.Name, w.Error())
					}
				}
			}
		})
	}
}
