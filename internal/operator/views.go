// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"os"

	ctrl "sigs.k8s.io/controller-runtime"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	"github.com/acme/platform-operator/internal/registration"
)

// addViews adds what registers the API of the views, if there is a Service that serves it.
func addViews(mgr ctrl.Manager, c configv1alpha1.ViewsConfig, o Options) error {
	if o.ViewsService == "" || o.Namespace == "" {
		return nil
	}
	return registration.Register(mgr, registration.Options{
		Names:            registration.Names{Namespace: o.Namespace, Service: o.ViewsService},
		Enabled:          c.State == configv1alpha1.Enabled,
		Provided:         c.Certificate == configv1alpha1.Provided,
		UnreachableAfter: c.UnreachableAfter.Duration,
		// An OperatorCondition has the name of its ClusterServiceVersion.
		ClusterServiceVersion: os.Getenv(conditionVariable),
		Clock:                 o.Clock,
	})
}
