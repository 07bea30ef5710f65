// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// pageSize is how many objects of tenants are in memory at once.
const pageSize = 20

// Each calls do for the objects of a list's type in a Namespace, at most for the first so many, and reports whether these
// were all. They are read from the API server, a few at a time: the cache holds the operator's own only, and tenants may
// make many and large ones.
func Each[O client.Object](
	ctx context.Context, live client.Reader, namespace string, empty client.ObjectList, most int, do func(O), opts ...client.ListOption,
) (all bool, err error) {
	for next, seen := "", 0; seen < most; seen += pageSize {
		page := empty.DeepCopyObject().(client.ObjectList)
		err := live.List(ctx, page, append(opts, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))...)
		if err != nil {
			return false, fmt.Errorf("listing what is in the Namespace: %w", err)
		}
		_ = meta.EachListItem(page, func(item runtime.Object) error {
			do(item.(O))
			return nil
		})
		if next = page.GetContinue(); next == "" {
			return true, nil
		}
	}
	return false, nil
}
