// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

// refusesFields reports whether the API server rejects the content of certain fields, for instance because they are immutable. An
// admission policy names none: what it rejects now it would reject when it is created again, too.
func refusesFields(err error) bool {
	return apierrors.IsInvalid(err) && len(RejectedFields(err)) > 0
}

// replace deletes an object whose change was refused, unless its successor would be refused as well: the API server checks the content
// of what is to be created before it looks whether the name is free.
func (s Scope[T]) replace(ctx context.Context, c Child, live client.Object, what identity, refusal error) (Outcome, error) {
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(c.intent)
	if err != nil {
		return Outcome{}, fmt.Errorf("encoding %s: %w", what, err)
	}
	err = s.Client.Create(ctx, &unstructured.Unstructured{Object: body}, client.DryRunAll,
		client.FieldOwner(names.FieldManager(s.runner.Name)), client.DisableReadYourWritesConsistency)
	switch {
	case apierrors.IsInvalid(err) || apierrors.IsForbidden(err):
		return Outcome{}, refusal
	case err != nil && !apierrors.IsAlreadyExists(err):
		return Outcome{}, fmt.Errorf("trying to create %s: %w", what, err)
	}
	return Wait(time.Second, "Replacing", what.String()+" cannot be changed as wanted, so it is deleted and created again"), s.remove(ctx, live)
}
