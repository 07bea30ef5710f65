// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// Decode decodes an object of any content into its type. Unlike the decoders of Kubernetes it fails if a parser
// would compute for minutes, or panic.
func Decode(from map[string]any, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding it panics: %v", r)
		}
	}()
	if err := walk(reflect.TypeOf(into), from, "", vetQuantity); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(from, into); err != nil {
		if where := walk(reflect.TypeOf(into), from, "", parse); where != nil {
			return where
		}
		return err
	}
	return nil
}

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	// endless matches exponents for which the parser of quantities computes numbers of thousands of digits.
	endless = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)
)

// maxQuantity is the length of the longest accepted quantity. None of Kubernetes' own is half as long.
const maxQuantity = 64

// leaf checks a value that a parser of its type decodes.
type leaf func(t reflect.Type, value any, path string) error

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// walk checks every value that a parser would decode into a type, or into a part of it.
func walk(t reflect.Type, value any, path string, judge leaf) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if value != nil && reflect.PointerTo(t).Implements(unmarshaler) {
		return judge(t, value, path)
	}
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Struct:
			return walkStruct(t, v, path, judge)
		case reflect.Map:
			return walkMap(t, v, path, judge)
		default: // the decoder reports that it does not fit
		}
	case []any:
		if t.Kind() == reflect.Slice {
			return walkList(t, v, path, judge)
		}
	}
	return nil
}

func walkMap(t reflect.Type, value map[string]any, path string, judge leaf) error {
	for k, e := range value {
		if err := walk(t.Elem(), e, path+"["+k+"]", judge); err != nil {
			return err
		}
	}
	return nil
}

func walkList(t reflect.Type, value []any, path string, judge leaf) error {
	for i, e := range value {
		if err := walk(t.Elem(), e, fmt.Sprintf("%s[%d]", path, i), judge); err != nil {
			return err
		}
	}
	return nil
}

func walkStruct(t reflect.Type, value map[string]any, path string, judge leaf) error {
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		part, present := value[name]
		below := strings.TrimPrefix(path+"."+name, ".")
		if name == "" && f.Anonymous {
			part, present, below = value, true, path
		}
		if !present {
			continue
		}
		if err := walk(f.Type, part, below, judge); err != nil {
			return err
		}
	}
	return nil
}

// vetQuantity rejects a quantity that the parser cannot cope with.
func vetQuantity(t reflect.Type, value any, path string) error {
	if s, ok := value.(string); ok && t == quantityType && (len(s) > maxQuantity || endless.MatchString(s)) {
		return fmt.Errorf("%s: %.64q is not a valid quantity", path, s)
	}
	return nil
}

// parse parses a value as its type does.
func parse(t reflect.Type, value any, path string) error {
	text, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(text, reflect.New(t).Interface())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
