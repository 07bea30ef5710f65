// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	strictjson "sigs.k8s.io/json"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
)

// Parse returns the configuration of a YAML or JSON text, defaulted and validated. An empty text means all
// defaults. Everything in the text that would have no effect is an error that names the field or the line: an
// unknown field, a duplicate key, another apiVersion or kind, a value of the wrong type, a second document, an
// invalid value.
func Parse(data []byte) (*configv1alpha1.PlatformOperatorConfig, error) {
	config, unknown, err := ParseKnown(data)
	if unknown != nil {
		return nil, unknown
	}
	return config, err
}

// ParseKnown is Parse for a text that another version of the operator may read: it leaves fields out that this version does not know,
// and says which.
func ParseKnown(data []byte) (config *configv1alpha1.PlatformOperatorConfig, unknown, err error) {
	config = &configv1alpha1.PlatformOperatorConfig{}
	document, err := toJSON(data)
	if err != nil {
		return nil, nil, err
	}
	if document != nil {
		if unknown, err = decode(document, config); err != nil {
			return nil, nil, err
		}
	}
	configv1alpha1.Default(config)
	if err := configv1alpha1.Validate(config).ToAggregate(); err != nil {
		return nil, unknown, err
	}
	return config, unknown, nil
}

// toJSON returns the one document of a YAML text as JSON, or nil if the text is empty. It uses the YAML library
// itself, because sigs.k8s.io/yaml silently drops all documents but the first.
func toJSON(data []byte) ([]byte, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var content any
	if err := decoder.Decode(&content); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var next yaml.Node
	if err := decoder.Decode(&next); err == nil {
		return nil, fmt.Errorf("yaml: line %d: a second document; the configuration is one document", next.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if content == nil {
		return nil, nil
	}
	document, err := json.Marshal(content)
	if err != nil {
		return nil, fmt.Errorf("yaml: keys must be text, and numbers finite: %w", err)
	}
	return document, nil
}

// decode returns the fields of a document that a configuration does not have as an error of their own.
func decode(document []byte, config *configv1alpha1.PlatformOperatorConfig) (unknown, err error) {
	// Fields of another kind or version would all seem unknown, so the type is checked first.
	var typeMeta metav1.TypeMeta
	if err := strictjson.UnmarshalCaseSensitivePreserveInts(document, &typeMeta); err != nil {
		return nil, explain(err)
	}
	if err := configv1alpha1.ValidateType(typeMeta).ToAggregate(); err != nil {
		return nil, err
	}
	fields, err := strictjson.UnmarshalStrict(document, config)
	if err != nil {
		return nil, explain(err)
	}
	if len(fields) > 0 { // an aggregate of none would be an error that is not nil
		unknown = utilerrors.NewAggregate(fields)
	}
	return unknown, nil
}

// explain converts a decoder's error about Go types into one about fields and their values.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return err
	}
	path := strings.TrimPrefix(wrong.Field, "TypeMeta.")
	if path == "" {
		path = "the document"
	}
	return fmt.Errorf("%s: found %s, must be %s", path, wrong.Value, describe(wrong.Type))
}

func describe(t reflect.Type) string {
	if t == reflect.TypeFor[configv1alpha1.Duration]() {
		return "a duration with its unit, such as 10s or 5m"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Int32:
		return "a whole number that fits 32 bits"
	case reflect.Slice:
		return "a list"
	default:
		return "a block of fields"
	}
}
