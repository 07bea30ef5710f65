// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// SecretReference names a Secret in the operator's own namespace.
type SecretReference struct {
	// Name of the Secret. Required.
	Name string `json:"name"`
}

// SecretKeyReference names a key of a Secret in the operator's own namespace.
type SecretKeyReference struct {
	// Name of the Secret. Required.
	Name string `json:"name"`

	// Key in the Secret. Default `token`.
	// +optional
	Key string `json:"key,omitempty"`
}

// ConfigMapKeyReference names a key of a ConfigMap in the operator's own namespace.
type ConfigMapKeyReference struct {
	// Name of the ConfigMap. Required.
	Name string `json:"name"`

	// Key in the ConfigMap. Default `ca.crt`.
	// +optional
	Key string `json:"key,omitempty"`
}

// The methods below accept nil, because references are optional.

func (r *SecretKeyReference) setDefaults() {
	if r != nil {
		defaultTo(&r.Key, "token")
	}
}

func (r *ConfigMapKeyReference) setDefaults() {
	if r != nil {
		defaultTo(&r.Key, "ca.crt")
	}
}

func (r *SecretReference) validate(path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	return objectName(path.Child("name"), r.Name)
}

func (r *SecretKeyReference) validate(path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	return append(objectName(path.Child("name"), r.Name), dataKey(path.Child("key"), r.Key)...)
}

func (r *ConfigMapKeyReference) validate(path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	return append(objectName(path.Child("name"), r.Name), dataKey(path.Child("key"), r.Key)...)
}

func objectName(path *field.Path, name string) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "the name of an object in the operator's namespace")}
	}
	return asErrors(path, name, validation.IsDNS1123Subdomain(name))
}

func dataKey(path *field.Path, key string) field.ErrorList {
	return asErrors(path, key, validation.IsConfigMapKey(key))
}

func asErrors(path *field.Path, value string, messages []string) field.ErrorList {
	if len(messages) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, value, strings.Join(messages, "; "))}
}
