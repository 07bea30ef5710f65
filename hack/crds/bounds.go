// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// What is not bounded by a marker or a row of the table is bounded so. The operator alone writes status, and must never be
// kept from it.
const (
	maxLength, maxLengthOfStatus = 1024, 32768
	maxItems, maxItemsOfStatus   = 64, 16384
)

const (
	// quantity has no sign, no more digits than an int64 and no exponent that takes time: "1e-100000000" makes the parser
	// of quantities compute for minutes. Rules are evaluated although a pattern fails: those that compare quantities leave out
	// what has a '-'.
	quantity    = `^[0-9]{1,19}(\.[0-9]{0,9})?([numkMGTPE]|[KMGTPE]i|[eE][0-9]|[eE]1[0-8])?$`
	maxQuantity = 32
	// maxInteger is the largest integer that JSON is sure to keep.
	maxInteger = 1<<53 - 1
	// generatedQuantity is the beginning of the pattern that controller-gen gives to quantities.
	generatedQuantity = `^(\+|-)?(([0-9]+`
	// number is all else that may be a number or a string, such as a port or a percentage.
	number    = `^[-0-9A-Za-z]{0,63}%?$`
	maxNumber = 64

	duration    = `^([0-9]+(\.[0-9]+)?(h|m|s|ms))+$`
	maxDuration = 32
	// moment is RFC 3339, which the API server checks less strictly than Go's parser.
	moment      = `^` + date + clock + `:[0-5][0-9](\.[0-9]{1,9})?(Z|[+-]` + clock + `)$`
	microMoment = `^` + date + clock + `:[0-5][0-9]\.[0-9]{6}(Z|[+-]` + clock + `)$`
	date        = `[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T`
	clock       = `([01][0-9]|2[0-3]):[0-5][0-9]`
	maxMoment   = 35
)

// boundObject sets bounds in the schema of an object.
func boundObject(s *apiextensionsv1.JSONSchemaProps) {
	for name, p := range s.Properties {
		if !isMeta(name) {
			bound("."+name, &p)
			s.Properties[name] = p
		}
	}
}

// bound sets bounds in a schema and in all that it contains. The path names properties, with "[]" for the elements of a
// list and "{}" for the values of a map.
func bound(path string, s *apiextensionsv1.JSONSchemaProps) {
	for _, r := range table {
		if matches(path, r.path) {
			r.apply(s)
		}
	}
	switch {
	case s.XIntOrString:
		boundNumber(s)
	case s.Type == "string" && len(s.Enum) == 0:
		boundString(path, s)
	case s.Type == "array":
		limit(&s.MaxItems, choose(path, maxItems, maxItemsOfStatus))
		bound(path+"[]", s.Items.Schema)
	case s.AdditionalProperties != nil:
		boundMap(path, s)
	}
	for name, p := range s.Properties {
		bound(path+"."+name, &p)
		s.Properties[name] = p
	}
}

func boundMap(path string, s *apiextensionsv1.JSONSchemaProps) {
	limit(&s.MaxProperties, choose(path, maxItems, maxItemsOfStatus))
	values := s.AdditionalProperties.Schema
	if isQuantity(values) && !isStatus(path) {
		s.XValidations = append(s.XValidations, resourceNames)
	}
	bound(path+"{}", values)
}

// isMeta reports whether a property at the top is one that the API server checks by itself.
func isMeta(name string) bool { return name == "apiVersion" || name == "kind" || name == "metadata" }

// matches reports whether a path ends in the names of a row.
func matches(path, row string) bool { return strings.HasSuffix(path, row) }

func choose(path string, ofSpec, ofStatus int64) int64 {
	if isStatus(path) {
		return ofStatus
	}
	return ofSpec
}

func isStatus(path string) bool { return strings.HasPrefix(path, ".status") }

// limit sets a bound that is not there yet.
func limit(bound **int64, to int64) {
	if *bound == nil {
		*bound = &to
	}
}

func isQuantity(s *apiextensionsv1.JSONSchemaProps) bool {
	return s.XIntOrString && strings.HasPrefix(s.Pattern, generatedQuantity)
}

func boundNumber(s *apiextensionsv1.JSONSchemaProps) {
	if isQuantity(s) {
		s.Pattern = quantity
		limit(&s.MaxLength, maxQuantity)
		s.Minimum, s.Maximum = new(float64(0)), new(float64(maxInteger))
		return
	}
	if s.Pattern == "" {
		s.Pattern = number
	}
	limit(&s.MaxLength, maxNumber)
}

func boundString(path string, s *apiextensionsv1.JSONSchemaProps) {
	switch {
	case s.Format == "date-time":
		limit(&s.MaxLength, maxMoment)
		if s.Pattern != microMoment {
			s.Pattern = moment
		}
	case isDuration(s):
		limit(&s.MaxLength, maxDuration)
		s.Pattern = duration
	}
	limit(&s.MaxLength, choose(path, maxLength, maxLengthOfStatus))
}

// isDuration reports whether a rule reads a string as a duration.
func isDuration(s *apiextensionsv1.JSONSchemaProps) bool {
	for _, v := range s.XValidations {
		if strings.Contains(v.Rule, "duration(self)") {
			return true
		}
	}
	return false
}
