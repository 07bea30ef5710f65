// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"context"
	"crypto/x509"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/certificate"
	"github.com/acme/platform-operator/internal/names"
)

// trustedBy reports which certificates API servers trust. While the API is not registered, none of them asks.
func trustedBy(w world) func(*x509.Certificate) bool {
	if w.apiService == nil {
		return func(*x509.Certificate) bool { return true }
	}
	trusted := certificate.ParseBundle(bundleOf(w.apiService))
	return func(c *x509.Certificate) bool { return slices.ContainsFunc(trusted, c.Equal) }
}

// store writes a keyring into the Secret, if that differs. Another leader may have done so meanwhile; then it fails, and the next look
// finds what that one wrote.
func (r *registrar) store(ctx context.Context, secret *corev1.Secret, k keyring) error {
	changed := secret.DeepCopy()
	k.writeInto(changed)
	if equality.Semantic.DeepEqual(secret.Data, changed.Data) && equality.Semantic.DeepEqual(secret.Annotations, changed.Annotations) {
		return nil
	}
	if d := r.deployment(ctx); d.UID != "" && len(changed.OwnerReferences) == 0 { // with which it goes
		changed.OwnerReferences = []metav1.OwnerReference{{APIVersion: d.APIVersion, Kind: d.Kind, Name: d.Name, UID: d.UID}}
	}
	manager := client.FieldOwner(names.FieldManager("views"))
	var err error
	if secret.UID == "" {
		err = r.live.Create(ctx, changed, manager)
	} else {
		err = r.live.Patch(ctx, changed, client.MergeFromWithOptions(secret, client.MergeFromWithOptimisticLock{}), manager)
	}
	if err != nil {
		return fmt.Errorf("writing the Secret %s: %w", secret.Name, err)
	}
	ctrl.LoggerFrom(ctx).Info("Wrote the certificate of the views", "secret", secret.Name,
		"validUntil", k.serving.NotAfter, "next", k.next != nil, "trusted", len(k.trusted))
	return nil
}
