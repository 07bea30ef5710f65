// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Expected names the types without which the operator is not ready, as the metric of filled caches does.
func Expected() []string {
	var out []string
	for _, o := range expected(Kinds, cacheOptions(Kinds)) {
		gvk, err := apiutil.GVKForObject(o, Scheme())
		if err != nil {
			panic(err)
		}
		out = append(out, strings.ToLower(gvk.GroupKind().String()))
	}
	return out
}

// ResourceOf is what spans of requests are called after.
var ResourceOf = resourceOf
