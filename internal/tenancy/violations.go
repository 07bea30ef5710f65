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

package tenancy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// maxNamed is how many of the pods that violate a level are named.
const maxNamed = 5

// standards are the Pod Security Standards as the API server enforces them.
var standards = sync.OnceValues(func() (policy.Evaluator, error) { return policy.NewEvaluator(policy.DefaultChecks(), nil) })

// InsecurePods says which of the pods a Pod Security level would reject; empty when it is none. Pods that have ended do
// not count.
func InsecurePods(level v1alpha1.PodSecurityLevel, pods []corev1.Pod) (string, error) {
	evaluator, err := standards()
	if err != nil {
		return "", fmt.Errorf("reading the Pod Security Standards: %w", err)
	}
	at := api.LevelVersion{Level: api.Level(level), Version: api.LatestVersion()}
	var insecure []string
	for _, p := range pods {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		if !ended && !policy.AggregateCheckResults(evaluator.EvaluatePod(at, &p.ObjectMeta, &p.Spec)).Allowed {
			insecure = append(insecure, p.Name)
		}
	}
	if len(insecure) == 0 {
		return "", nil
	}
	slices.Sort(insecure)
	named := strings.Join(insecure[:min(len(insecure), maxNamed)], ", ")
	if len(insecure) > maxNamed {
		named += ", …"
	}
	return fmt.Sprintf("%d pod(s) violate the Pod Security level %s (%s); they continue to run, but cannot be started again; "+
		"adapt them, or choose another tier",
		len(insecure), level, named), nil
}

// QuotaExceeded lists, resource by resource, what uses more than the limits allow.
func QuotaExceeded(hard, used corev1.ResourceList) []string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(hard)) {
		limit, u := hard[name], used[name]
		if u.Cmp(limit) > 0 {
			all = append(all, fmt.Sprintf("%s: the limit is %s and %s is in use; nothing is stopped, but nothing more can be started; "+
				"free some, or raise spec.quota", name, &limit, &u))
		}
	}
	return all
}
