/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package tolerant

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

// Decode reads an object of any content into its type. Unlike the decoders of Kubernetes it fails where a parser would
// compute for minutes, or panic.
func Decode(from map[string]any, into any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("decoding it panics: %v", r)
		}
	}()
	if err := vet(reflect.TypeOf(into), from, ""); err != nil {
		return err
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(from, into)
}

var (
	quantityType = reflect.TypeFor[resource.Quantity]()
	// endless is an exponent for which the parser of quantities makes numbers of thousands of digits.
	endless = regexp.MustCompile(`[eE][+-]?[0-9]{3,}$`)
)

// maxQuantity is the length of a quantity that is read. None of Kubernetes' own is half as long.
const maxQuantity = 64

// vet finds the quantities in a value that is to be read into a type, and refuses those that the parser cannot cope with.
func vet(t reflect.Type, value any, path string) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == quantityType {
		return vetQuantity(value, path)
	}
	switch v := value.(type) {
	case map[string]any:
		return vetMap(t, v, path)
	case []any:
		if t.Kind() != reflect.Slice {
			return nil
		}
		for i, e := range v {
			if err := vet(t.Elem(), e, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	}
	return nil
}

func vetMap(t reflect.Type, value map[string]any, path string) error {
	if t.Kind() == reflect.Map {
		for k, e := range value {
			if err := vet(t.Elem(), e, path+"["+k+"]"); err != nil {
				return err
			}
		}
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" && f.Anonymous {
			if err := vet(f.Type, value, path); err != nil {
				return err
			}
		}
		if e, ok := value[name]; ok && name != "" {
			if err := vet(f.Type, e, strings.TrimPrefix(path+"."+name, ".")); err != nil {
				return err
			}
		}
	}
	return nil
}

func vetQuantity(value any, path string) error {
	if s, ok := value.(string); ok && (len(s) > maxQuantity || endless.MatchString(s)) {
		return fmt.Errorf("%s: %.64q is no quantity that can be read", path, s)
	}
	return nil
}
