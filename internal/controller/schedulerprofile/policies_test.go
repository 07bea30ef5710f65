// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/testenv"
)

// TestPoliciesHinderNoPod: without their CustomResourceDefinition, policies cannot be evaluated, and the API server finds that out up to half a
// minute later. Pods are created then, too.
func TestPoliciesHinderNoPod(t *testing.T) {
	policies, bindings := 0, 0
	for _, file := range []string{"routing.yaml", "use.yaml"} {
		text, err := os.ReadFile(testenv.RepoFile("config", "scheduling", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.Split(string(text), "\n---\n") {
			var o struct {
				Kind string
				Spec struct {
					FailurePolicy string
					ParamRef      *struct{ ParameterNotFoundAction string }
				}
			}
			if err := yaml.Unmarshal([]byte(part), &o); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			switch {
			case strings.HasSuffix(o.Kind, "AdmissionPolicy"):
				policies++
				if o.Spec.FailurePolicy != "Ignore" {
					t.Errorf("%s: failurePolicy of the %s is %q, not Ignore", file, o.Kind, o.Spec.FailurePolicy)
				}
			case strings.HasSuffix(o.Kind, "AdmissionPolicyBinding"):
				bindings++
				if o.Spec.ParamRef == nil || o.Spec.ParamRef.ParameterNotFoundAction != "Allow" {
					t.Errorf("%s: the %s does not allow what it finds no object for", file, o.Kind)
				}
			}
		}
	}
	if policies != 2 || bindings != 2 {
		t.Errorf("there are %d policies and %d bindings, not two of each", policies, bindings)
	}
}
