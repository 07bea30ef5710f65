// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/engine"
)

// The bindings of the policies in config/scheduling, by which the operator tells that they are there.
const (
	routingPolicy = "platform-operator-scheduler-routing"
	usePolicy     = "platform-operator-scheduler-use"
)

// route checks that the policies are there that carry out spec.routing and spec.use. They are static, read the object as their parameter,
// and work without the operator.
func (r *run) route(ctx context.Context) (engine.Outcome, error) {
	spec := r.Obj.Spec
	if spec.Routing != nil {
		if out, err := r.installed(ctx, "MutatingAdmissionPolicyBinding", routingPolicy, "spec.routing"); err != nil || !out.GoesOn() {
			return out, err
		}
	}
	if spec.Use != nil {
		return r.installed(ctx, "ValidatingAdmissionPolicyBinding", usePolicy, "spec.use")
	}
	return engine.Done(), nil
}

func (r *run) installed(ctx context.Context, kind, name, field string) (engine.Outcome, error) {
	binding := &metav1.PartialObjectMetadata{}
	binding.SetGroupVersionKind(schema.GroupVersionKind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
	err := r.Live.Get(ctx, client.ObjectKey{Name: name}, binding)
	switch {
	case meta.IsNoMatchError(err):
		return engine.BlockFor(versionKept, ReasonNotSupported, fmt.Sprintf("%s needs the API %s of Kubernetes 1.36, which this API server "+
			"(1.%d) does not serve; remove the field, and let pods name the profile themselves", field, kind, r.server)), nil
	case apierrors.IsNotFound(err):
		return engine.BlockFor(grantCheck, ReasonPolicyMissing, fmt.Sprintf("%s has no effect: there is no %s %s; let an administrator run: %s",
			field, kind, name, command)), nil
	case err != nil:
		return engine.Outcome{}, fmt.Errorf("reading the %s %s: %w", kind, name, err)
	}
	return engine.Done(), nil
}
