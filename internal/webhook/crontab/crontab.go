// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crontab is the webhook of CronTabs. It reports at once what the controller would report a moment
// later in the status: an invalid schedule or time zone. It checks only what the schema cannot.
package crontab

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	v1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/schedule"
)

// +kubebuilder:webhook:path=/validate-batch-acme-com-v1alpha1-crontab,mutating=false,failurePolicy=ignore,sideEffects=None,groups=batch.acme.com,resources=crontabs,verbs=create;update,versions=v1alpha1,name=vcrontab.batch.acme.com,admissionReviewVersions=v1,timeoutSeconds=5

// Register adds the webhook to the manager.
func Register(mgr ctrl.Manager) error {
	return ctrl.NewWebhookManagedBy(mgr, &v1alpha1.CronTab{}).WithValidator(webhook{}).Complete()
}

type webhook struct{}

// ValidateCreate implements admission.Validator.
func (webhook) ValidateCreate(_ context.Context, c *v1alpha1.CronTab) (admission.Warnings, error) {
	return validate(c)
}

// ValidateUpdate implements admission.Validator. It never rejects an object that is being deleted, because that
// would block the removal of its finalizer.
func (webhook) ValidateUpdate(_ context.Context, was, c *v1alpha1.CronTab) (admission.Warnings, error) {
	if !c.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	warnings := overwritten(was, c)
	if was.Generation == c.Generation {
		return warnings, nil
	}
	more, err := validate(c)
	return append(warnings, more...), err
}

// overwritten warns about a request for a run by hand that is replaced before the operator has seen it: an
// annotation has one value, so nothing else can report it.
func overwritten(was, c *v1alpha1.CronTab) admission.Warnings {
	before := was.Annotations[names.AnnotationRunNow]
	if before == "" || before == c.Annotations[names.AnnotationRunNow] || recorded(was.Status, before) {
		return nil
	}
	return admission.Warnings{fmt.Sprintf("the request %.40q for a run by hand was replaced before the operator saw it, so it is not run. "+
		"Request one run at a time, and check status.runNow before the next", before)}
}

// recorded reports whether the status has a request.
func recorded(s v1alpha1.CronTabStatus, request string) bool {
	return s.RunNow != nil && s.RunNow.Request == names.Request(request) ||
		slices.ContainsFunc(s.Requests, func(r v1alpha1.RunNow) bool { return r.Request == names.Request(request) })
}

// ValidateDelete implements admission.Validator. The webhook is not called for it.
func (webhook) ValidateDelete(context.Context, *v1alpha1.CronTab) (admission.Warnings, error) {
	return nil, nil
}

// validate parses the schedule like the controller, except for the values of H.
func validate(c *v1alpha1.CronTab) (admission.Warnings, error) {
	spec := c.Spec
	var errs field.ErrorList
	if _, err := schedule.Parse("@daily", spec.TimeZone, ""); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec", "timeZone"), spec.TimeZone, err.Error()))
	}
	s, err := schedule.Parse(spec.CronSpec, "", string(c.UID))
	if err != nil {
		errs = append(errs, field.Invalid(field.NewPath("spec", "cronSpec"), spec.CronSpec, err.Error()))
	}
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(schema.GroupKind{Group: v1alpha1.GroupVersion.Group, Kind: "CronTab"}, c.Name, errs)
	}
	if s.NeverFires() {
		return admission.Warnings{"spec.cronSpec " + strings.TrimSpace(spec.CronSpec) + " never fires: no day matches it"}, nil
	}
	return nil, nil
}
