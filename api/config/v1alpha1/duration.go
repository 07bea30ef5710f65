// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"encoding/json"
	"reflect"
	"time"
)

// Duration is a length of time, written as a Go duration with its unit: `300ms`, `10s`, `1h30m`.
//
// metav1.Duration reads the same text, but its errors cannot be traced to a field: only a
// json.UnmarshalTypeError is given the field's path by the decoder.
type Duration struct {
	time.Duration `json:"-"`
}

// UnmarshalJSON reads a duration from its text. A failure is a *json.UnmarshalTypeError whose Value is
// the JSON that was found.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	err := json.Unmarshal(data, &text)
	if err == nil {
		d.Duration, err = time.ParseDuration(text)
	}
	if err != nil {
		return &json.UnmarshalTypeError{Value: string(data), Type: reflect.TypeFor[Duration]()}
	}
	return nil
}

// MarshalJSON writes the duration as its text.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(d.String())
}
