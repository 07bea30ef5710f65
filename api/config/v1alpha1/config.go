// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the operator's own configuration file: types, defaults and validation. It is a file
// format like that of Kubernetes components, not a custom resource.
//
// A section is one file of this package: its types, its setDefaults and its validate. It joins the
// configuration by a field in PlatformOperatorConfig.
//
// +kubebuilder:object:generate=true
// +groupName=config.acme.com
package v1alpha1

import (
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// GroupVersion is the group and version that a configuration file names as its apiVersion.
var GroupVersion = schema.GroupVersion{Group: "config.acme.com", Version: "v1alpha1"}

// Kind is the kind that a configuration file names.
const Kind = "PlatformOperatorConfig"

// PlatformOperatorConfig is the configuration of the operator. All fields are optional and have the defaults
// that are documented at them. Addresses and ports that the operator listens on are command-line flags.
//
// +kubebuilder:object:root=true
type PlatformOperatorConfig struct {
	// TypeMeta must read `apiVersion: config.acme.com/v1alpha1` and `kind: PlatformOperatorConfig`.
	metav1.TypeMeta `json:",inline"`

	// Manager is what all kinds share: leader election, start, stop, the client.
	// +optional
	Manager ManagerConfig `json:"manager,omitzero"`

	// Tracing configures OpenTelemetry traces of what the operator does.
	// +optional
	Tracing TracingConfig `json:"tracing,omitzero"`

	// AcmeNamespace configures the kind AcmeNamespace.
	// +optional
	AcmeNamespace AcmeNamespaceConfig `json:"acmeNamespace,omitzero"`

	// ConfigWatcher configures the kind ConfigWatcher.
	// +optional
	ConfigWatcher ConfigWatcherConfig `json:"configWatcher,omitzero"`

	// RebootPolicy configures the kind RebootPolicy.
	// +optional
	RebootPolicy RebootPolicyConfig `json:"rebootPolicy,omitzero"`

	// CronTab configures the kind CronTab.
	// +optional
	CronTab CronTabConfig `json:"cronTab,omitzero"`

	// WebApp configures the kind WebApp.
	// +optional
	WebApp WebAppConfig `json:"webApp,omitzero"`

	// LeaderElection configures the kind LeaderElection.
	// +optional
	LeaderElection LeaderElectionsConfig `json:"leaderElection,omitzero"`

	// SchedulerProfile configures the kind SchedulerProfile.
	// +optional
	SchedulerProfile SchedulerProfileConfig `json:"schedulerProfile,omitzero"`

	// Database configures the kind Database.
	// +optional
	Database DatabaseConfig `json:"database,omitzero"`

	// Views configures the registration of the aggregated API of views.
	// +optional
	Views ViewsConfig `json:"views,omitzero"`
}

// section is one part of the configuration file.
type section interface {
	// setDefaults sets what was left out.
	setDefaults()
	// validate checks a section after defaulting; path is its path in the file.
	validate(path *field.Path) field.ErrorList
}

// namedSection is a section with the name of its field in the file.
type namedSection struct {
	name string
	section
}

// sections lists every section of c in the order of the file: each field with a name is one.
func (c *PlatformOperatorConfig) sections() []namedSection {
	var all []namedSection
	fields := reflect.ValueOf(c).Elem()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Type().Field(i).Tag.Get("json"), ",")
		if name != "" {
			all = append(all, namedSection{name, fields.Field(i).Addr().Interface().(section)})
		}
	}
	return all
}

// Default sets the defaults of fields that are empty in c, including its type.
func Default(c *PlatformOperatorConfig) {
	defaultTo(&c.APIVersion, GroupVersion.String())
	defaultTo(&c.Kind, Kind)
	for _, s := range c.sections() {
		s.setDefaults()
	}
}

// Validate returns the errors of a configuration after defaulting. Each error has the path of the field, the
// value that was found and what would be valid, and holds no secret.
func Validate(c *PlatformOperatorConfig) field.ErrorList {
	errs := ValidateType(c.TypeMeta)
	for _, s := range c.sections() {
		errs = append(errs, s.validate(field.NewPath(s.name))...)
	}
	return errs
}

// ValidateType returns an error for apiVersion and for kind unless they name this configuration. Readers call
// it before they look at other fields, which may differ in other versions.
func ValidateType(t metav1.TypeMeta) field.ErrorList {
	return append(
		oneOf(field.NewPath("apiVersion"), t.APIVersion, GroupVersion.String()),
		oneOf(field.NewPath("kind"), t.Kind, Kind)...,
	)
}
