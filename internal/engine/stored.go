// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// asStored rounds the amounts of resources in what a pointer points to as the API server stores them: up to thousandths. What is stored
// would otherwise always differ from what was sent. Lists of amounts are replaced, not changed: they may be those of an object in a
// cache.
func asStored(pointer any) { roundIn(reflect.ValueOf(pointer).Elem()) }

func roundIn(v reflect.Value) {
	if list, is := amounts(v); is {
		v.Set(list)
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			roundIn(v.Elem())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				roundIn(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			roundIn(v.Index(i))
		}
	default:
	}
}

// amounts returns a list of amounts, or a pointer to one, rounded; false if a value is neither.
func amounts(v reflect.Value) (reflect.Value, bool) {
	switch list := v.Interface().(type) {
	case corev1.ResourceList:
		return reflect.ValueOf(rounded(list)), list != nil
	case *corev1.ResourceList:
		if list == nil {
			return v, false
		}
		out := rounded(*list)
		return reflect.ValueOf(&out), true
	default:
		return v, false
	}
}

func rounded(list corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, amount := range list {
		amount = amount.DeepCopy()
		amount.RoundUp(resource.Milli)
		out[name] = amount
	}
	return out
}
