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

// Each calls do for the first objects of a list's type in a Namespace, up to a limit. It reads them from the
// API server in pages: the cache holds the operator's own only, and tenants may create many and large ones.
func Each[O client.Object](ctx context.Context, live client.Reader, namespace string, empty client.ObjectList, most int, do func(O)) error {
	for next, seen := "", 0; seen < most; seen += pageSize {
		page := empty.DeepCopyObject().(client.ObjectList)
		err := live.List(ctx, page, client.InNamespace(namespace), client.Limit(pageSize), client.Continue(next))
		if err != nil {
			return fmt.Errorf("listing what is in the Namespace: %w", err)
		}
		_ = meta.EachListItem(page, func(item runtime.Object) error {
			do(item.(O))
			return nil
		})
		if next = page.GetContinue(); next == "" {
			break
		}
	}
	return nil
}
