// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tenancy

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/fair"
)

// Objects of tenants may be as large as the API server takes, 1.5 MiB, and every worker of the operator may read some.
const (
	// pagesAtOnce is how many pages are in memory at once. The tenants that read them take turns, whatever namespaces they read.
	pagesAtOnce = 2
	// firstPage is how many objects the first page has: it is not known yet how large they are.
	firstPage = 5
	// largestPage is how many objects a page has at most, and pageBytes how large it may become, going by those before.
	largestPage = 100
	pageBytes   = 4 << 20
)

var pages = fair.NewPlaces(pagesAtOnce)

// Each calls do for the objects of a list's type in a Namespace, at most for the first so many, and reports whether these
// were all. They are read from the API server, a few at a time: the cache holds the operator's own only, and tenants may
// make many and large ones. Do keeps nothing large, and calls no Each.
func Each[O client.Object](
	ctx context.Context, live client.Reader, namespace string, empty client.ObjectList, most int, do func(O), opts ...client.ListOption,
) (all bool, err error) {
	next, limit := "", min(firstPage, most)
	for seen := 0; limit > 0; limit = min(limit, most-seen) {
		var n, size int
		next, err = eachOfPage(ctx, live, namespace, empty, func(item runtime.Object) {
			n++
			size += sizeOf(item)
			do(item.(O))
		}, append(opts, client.InNamespace(namespace), client.Limit(limit), client.Continue(next))...)
		if err != nil {
			return false, fmt.Errorf("listing what is in the Namespace: %w", err)
		}
		if next == "" {
			return true, nil
		}
		seen += max(n, 1)
		limit = nextPage(limit, n, size)
	}
	return false, nil
}

// eachOfPage calls do for the objects of one page.
func eachOfPage(
	ctx context.Context, live client.Reader, namespace string, empty client.ObjectList, do func(runtime.Object), opts ...client.ListOption,
) (next string, err error) {
	release, err := pages.Acquire(ctx, cmp.Or(fair.Tenant(ctx), namespace))
	if err != nil {
		return "", err
	}
	defer release()
	page := empty.DeepCopyObject().(client.ObjectList)
	if err := live.List(ctx, page, opts...); err != nil {
		return "", err
	}
	return page.GetContinue(), meta.EachListItem(page, func(item runtime.Object) error {
		do(item)
		return nil
	})
}

// nextPage is how many objects the page after one of n objects of a size has.
func nextPage(limit, n, size int) int {
	if n == 0 || size == 0 {
		return limit
	}
	return max(1, min(largestPage, 2*limit, pageBytes*n/size))
}

// sizeOf is the size of an object in bytes, as the API server stores it; 0 when its type does not tell.
func sizeOf(o runtime.Object) int {
	if sized, tells := o.(interface{ Size() int }); tells {
		return sized.Size()
	}
	return 0
}
