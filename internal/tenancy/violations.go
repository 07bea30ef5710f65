// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// maxNamed is the most pods that a message names.
const maxNamed = 5

// standards are the Pod Security Standards as the API server enforces them.
var standards = sync.OnceValues(func() (policy.Evaluator, error) { return policy.NewEvaluator(policy.DefaultChecks(), nil) })

// MaxPods is how many pods of a Namespace are looked at.
const MaxPods = 500

// running selects pods that have not ended.
var running = client.MatchingFieldsSelector{Selector: fields.ParseSelectorOrDie("status.phase!=Succeeded,status.phase!=Failed")}

// InsecurePods says which pods of a Namespace a Pod Security level would reject; empty when it is none of those that were
// looked at. all reports whether these were all that have not ended.
func InsecurePods(
	ctx context.Context, live client.Reader, namespace string, level v1alpha1.PodSecurityLevel,
) (violations string, all bool, err error) {
	found, err := newInsecure(level)
	if err != nil {
		return "", false, err
	}
	all, err = Each(ctx, live, namespace, &corev1.PodList{}, MaxPods, found.add, running)
	if err != nil {
		return "", false, err
	}
	return found.String(), all, nil
}

// insecure collects the pods that a Pod Security level would reject. Pods that have ended do not count.
type insecure struct {
	evaluator policy.Evaluator
	level     v1alpha1.PodSecurityLevel
	names     []string
}

func newInsecure(level v1alpha1.PodSecurityLevel) (*insecure, error) {
	evaluator, err := standards()
	if err != nil {
		return nil, fmt.Errorf("reading the Pod Security Standards: %w", err)
	}
	return &insecure{evaluator: evaluator, level: level}, nil
}

func (i *insecure) add(p *corev1.Pod) {
	at := api.LevelVersion{Level: api.Level(i.level), Version: api.LatestVersion()}
	ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
	if !ended && !policy.AggregateCheckResults(i.evaluator.EvaluatePod(at, &p.ObjectMeta, &p.Spec)).Allowed {
		i.names = append(i.names, p.Name)
	}
}

// String is empty when there are none.
func (i *insecure) String() string {
	if len(i.names) == 0 {
		return ""
	}
	slices.Sort(i.names)
	named := strings.Join(i.names[:min(len(i.names), maxNamed)], ", ")
	if len(i.names) > maxNamed {
		named += ", …"
	}
	return fmt.Sprintf("%d pod(s) violate the Pod Security level %s (%s); they continue to run, but cannot be started again; "+
		"adapt them, or choose another tier",
		len(i.names), i.level, named)
}

// QuotaExceeded describes, resource by resource, what uses more than the limits allow.
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
