// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

// nodes are the labels of all nodes, of which the cache holds only the metadata.
func (k *kind) nodes(ctx context.Context, reader client.Reader) (all []labels.Set, err error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := reader.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	for i := range list.Items {
		all = append(all, list.Items[i].Labels)
	}
	return all, nil
}

// operators are those of requirements on nodes, as labels spell them.
var operators = map[corev1.NodeSelectorOperator]selection.Operator{
	corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn, corev1.NodeSelectorOpExists: selection.Exists,
	corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
	corev1.NodeSelectorOpGt:           selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
}

// matching is how many nodes meet the requirements of a profile. What the raw part of a profile adds does not count.
func matching(n *v1alpha1.Nodes, nodes []labels.Set) (count int32) {
	selector := labels.Everything()
	if n != nil {
		for _, key := range n.LabelKeys {
			selector = and(selector, string(key), selection.Exists, nil)
		}
		for _, e := range n.Expressions {
			var values []string
			for _, v := range e.Values {
				values = append(values, string(v))
			}
			selector = and(selector, string(e.Key), operators[e.Operator], values)
		}
	}
	for _, set := range nodes {
		if selector.Matches(set) {
			count++
		}
	}
	return count
}

// and adds a requirement. One that the schema does not admit matches nothing.
func and(s labels.Selector, key string, op selection.Operator, values []string) labels.Selector {
	requirement, err := labels.NewRequirement(key, op, values)
	if err != nil {
		return labels.Nothing()
	}
	return s.Add(*requirement)
}
