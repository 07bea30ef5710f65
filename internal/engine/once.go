// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

// CreateOnce creates a child that is then left alone, such as a Job: unlike those of Compose it is neither
// changed, nor repaired, nor pruned, so it need not be applied. It reports whether this call has created it. If
// a child of that name exists, the outcome is Done as well: its name identifies its purpose, so that two
// operators that overlap create it once.
//
// A tenant may copy such a child with its owner reference: Config.Proves distinguishes the two.
func (s Scope[T]) CreateOnce(ctx context.Context, child client.Object) (created bool, out Outcome, err error) {
	what := identityOf(child)
	if err := s.mark(child); err != nil {
		return false, Outcome{}, fmt.Errorf("marking %s: %w", what, err)
	}
	live := child.DeepCopyObject().(client.Object)
	err = s.Client.Create(ctx, child, client.FieldOwner(names.FieldManager(s.runner.Name)))
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return false, Wait(nameTakenRecheck, "NamespaceTerminating", "the Namespace is being deleted"), nil
	case !apierrors.IsAlreadyExists(err):
		if err != nil {
			return false, Done(), fmt.Errorf("creating %s: %w", what, err)
		}
		s.noteFresh(child)
		return true, Done(), nil
	}
	if err := s.Live.Get(ctx, what.key, live); err != nil {
		return false, Outcome{}, fmt.Errorf("reading %s: %w", what, err)
	}
	own, err := s.owned(ctx, live)
	if err != nil || own {
		return false, Done(), err
	}
	return false, s.taken(live, what), nil
}

// Taken is the outcome while an object that is not the owner's has the name of a child that CreateOnce would create.
func (s Scope[T]) Taken(live client.Object) Outcome { return s.taken(live, identityOf(live)) }

// Discard deletes a child, with its own children. With foreground propagation it remains until they are gone,
// with background propagation it is removed at once. A child that is gone already is not an error; one that has
// changed since it was read is a lost race. What holds data is deleted only while the owner is being deleted.
func (s Scope[T]) Discard(ctx context.Context, live client.Object, propagation metav1.DeletionPropagation) error {
	return s.remove(ctx, live, client.PropagationPolicy(propagation))
}
