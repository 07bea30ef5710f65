// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Ran is called at the end of each run of an object, with the name of its controller and the version of the object that the run
// began with.
type Ran func(controller string, key client.ObjectKey, resourceVersion string)

type ranKey struct{}

// WithRan gives the context below which a manager has to work, so that ran is called at the end of each run. It may be nil. Tests
// wait for runs by it.
func WithRan(ctx context.Context, ran Ran) context.Context {
	return context.WithValue(ctx, ranKey{}, ran)
}

// reportRun calls what WithRan has given to the manager.
func reportRun(ctx context.Context, controller string, key client.ObjectKey, resourceVersion string) {
	if ran, _ := ctx.Value(ranKey{}).(Ran); ran != nil {
		ran(controller, key, resourceVersion)
	}
}
