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

package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// deploymentTierFacts show what the tier changes, and for whom.
func deploymentTierFacts(ctx context.Context, c client.Reader, o *unstructured.Unstructured) ([]fact, error) {
	tier, all := &v1alpha1.DeploymentTier{}, &v1alpha1.AcmeNamespaceList{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, tier); err != nil {
		return nil, fmt.Errorf("reading DeploymentTier %s: %w", o.GetName(), err)
	}
	if err := c.List(ctx, all); err != nil {
		return nil, fmt.Errorf("listing AcmeNamespaces: %w", err)
	}
	var users []string
	for _, n := range all.Items {
		if string(n.Spec.DeploymentTier) == tier.Name {
			users = append(users, n.Name)
		}
	}
	who := "no AcmeNamespace yet"
	if len(users) > 0 {
		who = strings.Join(users, ", ")
	}
	facts := []fact{{"Used by", who}}
	for _, part := range []struct {
		what    string
		changed bool
	}{
		{"Quota", len(tier.Spec.Quota) > 0},
		{"LimitRange", tier.Spec.LimitRange != nil},
		{"Pod Security", tier.Spec.PodSecurity != ""},
		{"Network", tier.Spec.Network != nil},
		{"Admin rules", tier.Spec.AdminRules != nil},
	} {
		text := "as built in"
		if part.changed {
			text = "as asked for"
		}
		facts = append(facts, fact{part.what, text})
	}
	return facts, nil
}
