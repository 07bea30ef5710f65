// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"reflect"
	"time"
)

// fits reports whether the memory that a value refers to is at most so many bytes.
func fits(value any, bytes int) bool {
	m := meter{left: bytes}
	m.measure(reflect.ValueOf(value))
	return m.left >= 0
}

// meter measures values up to a limit.
type meter struct{ left int }

// perEntry is the approximate memory of a map's entry besides its key and its value.
const perEntry = 16

var timeType = reflect.TypeFor[time.Time]() // it refers to a time zone that all values share

// measure counts the memory that a value refers to, without the value itself.
func (m *meter) measure(v reflect.Value) {
	if m.left < 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		m.left -= v.Len()
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			m.left -= int(v.Elem().Type().Size())
			m.measure(v.Elem())
		}
	case reflect.Slice:
		m.left -= v.Len() * int(v.Type().Elem().Size())
		m.elements(v)
	case reflect.Array:
		m.elements(v)
	case reflect.Map:
		m.entries(v)
	case reflect.Struct:
		m.fields(v)
	default: // numbers and the like refer to nothing
	}
}

func (m *meter) fields(v reflect.Value) {
	for i := 0; v.Type() != timeType && i < v.NumField(); i++ {
		m.measure(v.Field(i))
	}
}

func (m *meter) elements(v reflect.Value) {
	if v.Type().Elem().Kind() <= reflect.Complex128 {
		return // numbers refer to nothing
	}
	for i := 0; m.left >= 0 && i < v.Len(); i++ {
		m.measure(v.Index(i))
	}
}

func (m *meter) entries(v reflect.Value) {
	t := v.Type()
	for r := v.MapRange(); m.left >= 0 && r.Next(); {
		m.left -= int(t.Key().Size()) + int(t.Elem().Size()) + perEntry
		m.measure(r.Key())
		m.measure(r.Value())
	}
}
