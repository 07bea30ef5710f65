// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedulerprofile is the webhook of SchedulerProfiles. It reports at once what the controller would report a moment later in
// the status: a name that is taken, and raw parts of profiles that no kube-scheduler knows. It checks only what the schema cannot.
package schedulerprofile

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/scheduling"
)

// +kubebuilder:webhook:path=/validate-scheduling-acme-com-v1alpha1-schedulerprofile,mutating=false,failurePolicy=ignore,sideEffects=None,groups=scheduling.acme.com,resources=schedulerprofiles,verbs=create;update,versions=v1alpha1,name=vschedulerprofile.scheduling.acme.com,admissionReviewVersions=v1,timeoutSeconds=5

// Register adds the webhook to the manager.
func Register(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha1.SchedulerProfile{}).WithValidator(webhook{mgr.GetClient()}).Complete()
}

type webhook struct{ cached client.Reader }

// ValidateCreate implements admission.Validator.
func (w webhook) ValidateCreate(ctx context.Context, p *v1alpha1.SchedulerProfile) (admission.Warnings, error) {
	// All existing objects precede this one, also within the same second.
	latest := p.DeepCopy()
	latest.CreationTimestamp = metav1.Time{}
	all, err := w.all(ctx)
	if err != nil {
		return nil, err
	}
	return nil, validate(latest, all)
}

// ValidateUpdate implements admission.Validator. It lets pass what changes nothing that it checks. Who takes a name from a younger object
// is warned: that one loses its scheduler.
func (w webhook) ValidateUpdate(ctx context.Context, was, p *v1alpha1.SchedulerProfile) (admission.Warnings, error) {
	if !p.DeletionTimestamp.IsZero() || was.Generation == p.Generation {
		return nil, nil
	}
	all, err := w.all(ctx)
	if err != nil {
		return nil, err
	}
	var warnings admission.Warnings
	for _, lost := range scheduling.Displaced(p, all) {
		if !scheduling.Serves(was, lost.SchedulerName) {
			warnings = append(warnings, fmt.Sprintf("%s is a profile of the SchedulerProfile %s as well, which is younger: the scheduler of that one is "+
				"removed, with all of its profiles", lost.SchedulerName, lost.Owner))
		}
	}
	return warnings, validate(p, all)
}

// ValidateDelete implements admission.Validator. The webhook is not called for it.
func (webhook) ValidateDelete(context.Context, *v1alpha1.SchedulerProfile) (admission.Warnings, error) {
	return nil, nil
}

// all are the stored objects.
func (w webhook) all(ctx context.Context) ([]v1alpha1.SchedulerProfile, error) {
	list := &v1alpha1.SchedulerProfileList{}
	if err := w.cached.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing SchedulerProfiles: %w", err)
	}
	return list.Items, nil
}

// validate checks what the controller does, but not whether the scheduler's own version has the plugins: the API server may be
// upgraded later.
func validate(p *v1alpha1.SchedulerProfile, all []v1alpha1.SchedulerProfile) error {
	var errs field.ErrorList
	for _, taken := range scheduling.Taken(p, all) {
		errs = append(errs, field.Invalid(field.NewPath("spec", "profiles").Key(taken.SchedulerName), taken.SchedulerName,
			fmt.Sprintf("it is a profile of the SchedulerProfile %s, which is older; choose another name, or remove it there", taken.Owner)))
	}
	for _, problem := range scheduling.Check(&p.Spec, scheduling.Of(&p.Spec, 0)) {
		path, detail, _ := strings.Cut(problem, ": ")
		errs = append(errs, &field.Error{Type: field.ErrorTypeInvalid, Field: path, BadValue: field.OmitValueType{}, Detail: detail})
	}
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "SchedulerProfile"}, p.Name, errs)
}
