// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func TestASlowAPIServerChangesNoReadiness(t *testing.T) {
	slow := fmt.Errorf("listing: %w", context.DeadlineExceeded)
	gone := fmt.Errorf("listing: %w", apierrors.NewNotFound(schema.GroupResource{}, ""))
	unknown := fmt.Errorf("listing: %w", &meta.NoKindMatchError{})
	var answer error
	ready := lastAnswer(func(context.Context) error { return answer })
	for i, step := range []struct{ answer, want error }{
		{slow, slow}, // unknown so far
		{nil, nil},
		{slow, nil},
		{gone, gone},
		{slow, gone},
		{unknown, unknown},
		{nil, nil},
	} {
		answer = step.answer
		if got := ready(&http.Request{}); !errors.Is(got, step.want) {
			t.Errorf("step %d: %v is answered by %v, want %v", i, step.answer, got, step.want)
		}
	}
}
