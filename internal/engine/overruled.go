// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

// Admission of the cluster may change a child on its way in: the API server then stores, under the operator's
// field manager, something other than what was sent. So every answer to an apply is compared with what was
// sent.

// sending is a child that is sent to the API server, and the answer. The answer is kept apart from what was
// sent: decoded over it, it would hide what is missing.
type sending struct {
	intent

	uid     types.UID
	version string

	answer client.Object
	// ResourceVersion is that of the answer: the client that waits for the cache looks for a field of this
	// name.
	ResourceVersion *string
}

// MarshalJSON encodes what is sent.
func (s *sending) MarshalJSON() ([]byte, error) {
	body, err := runtime.DefaultUnstructuredConverter.ToUnstructured(s.intent)
	if err != nil {
		return nil, err
	}
	for field, value := range map[string]string{"uid": string(s.uid), "resourceVersion": s.version} {
		if value == "" {
			continue
		}
		if err := unstructured.SetNestedField(body, value, "metadata", field); err != nil {
			return nil, err
		}
	}
	return json.Marshal(body)
}

// UnmarshalJSON decodes the answer.
func (s *sending) UnmarshalJSON(body []byte) error {
	if err := json.Unmarshal(body, s.answer); err != nil {
		return err
	}
	s.ResourceVersion = new(s.answer.GetResourceVersion())
	return nil
}

// differing returns the operator's fields in which a live object differs from the intent.
func (s Scope[T]) differing(c Child, live client.Object, what identity) ([]string, error) {
	_, differing, err := c.differing(live, s.runner.Name)
	if err != nil {
		return nil, fmt.Errorf("reading the owned fields of %s: %w", what, err)
	}
	return differing, nil
}

// differing returns what a kind, in lower case, owns of a live object, and the fields in which that differs from the intent.
func (c Child) differing(live client.Object, kind string) (owned any, fields []string, err error) {
	owned, err = c.extract(live, names.FieldManager(kind))
	if err != nil {
		return nil, nil, err
	}
	return owned, differences("", reflect.ValueOf(owned), reflect.ValueOf(c.intent)), nil
}

// differences returns the paths of the fields in which two apply configurations differ. Quantities are equal if
// their amounts are; an empty string equals none, because the API's types omit it.
func differences(path string, a, b reflect.Value) []string {
	if equality.Semantic.DeepEqual(a.Interface(), b.Interface()) {
		return nil
	}
	switch a.Kind() {
	case reflect.Pointer:
		return differencesOfPointers(path, a, b)
	case reflect.Map:
		return differencesOfMaps(path, a, b)
	case reflect.Slice:
		return differencesOfSlices(path, a, b)
	case reflect.Struct:
		return differencesOfStructs(path, a, b)
	default:
		return []string{path}
	}
}

func differencesOfPointers(path string, a, b reflect.Value) []string {
	switch {
	case !a.IsNil() && !b.IsNil():
		return differences(path, a.Elem(), b.Elem())
	case isEmptyString(a) && isEmptyString(b):
		return nil
	default:
		return []string{path}
	}
}

// isEmptyString reports whether a pointer is nil or points to an empty string.
func isEmptyString(p reflect.Value) bool {
	return p.IsNil() || p.Elem().Kind() == reflect.String && p.Elem().Len() == 0
}

func differencesOfSlices(path string, a, b reflect.Value) []string {
	if a.Len() != b.Len() {
		return []string{path}
	}
	var all []string
	for i := range a.Len() {
		all = append(all, differences(fmt.Sprintf("%s[%d]", path, i), a.Index(i), b.Index(i))...)
	}
	return all
}

func differencesOfMaps(path string, a, b reflect.Value) []string {
	keys := map[string]reflect.Value{}
	for _, k := range slices.Concat(a.MapKeys(), b.MapKeys()) {
		keys[k.String()] = k
	}
	var all []string
	for _, name := range slices.Sorted(maps.Keys(keys)) {
		at, x, y := fmt.Sprintf("%s[%s]", path, name), a.MapIndex(keys[name]), b.MapIndex(keys[name])
		if !x.IsValid() || !y.IsValid() {
			all = append(all, at)
			continue
		}
		all = append(all, differences(at, x, y)...)
	}
	return all
}

func differencesOfStructs(path string, a, b reflect.Value) []string {
	if !strings.HasSuffix(a.Type().Name(), "ApplyConfiguration") { // a quantity or the like
		return []string{path}
	}
	var all []string
	for i := range a.NumField() {
		at := path
		if name, _, _ := strings.Cut(a.Type().Field(i).Tag.Get("json"), ","); name != "" {
			at = strings.TrimPrefix(path+"."+name, ".")
		}
		all = append(all, differences(at, a.Field(i), b.Field(i))...)
	}
	return all
}

// maxOverruled is the most fields that a message names, and maxField the most bytes that it has of one.
const (
	maxOverruled = 5
	maxField     = 200
)

// overruled returns the outcome for a child that admission changes.
func overruled(what identity, fields []string) Outcome {
	var short []string
	for _, f := range fields[:min(len(fields), maxOverruled)] {
		short = append(short, names.Clip(f, maxField))
	}
	named := strings.Join(short, ", ")
	if more := len(fields) - maxOverruled; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return BlockFor(nameTakenRecheck, "ChildOverruled", fmt.Sprintf(
		"%s differs from what was sent: an admission plugin of the cluster (a mutating webhook or policy) changes %s. "+
			"Exempt objects with the label %s: %s from it", what, named, names.LabelManagedBy, names.Operator))
}

// overrulings records which children were overruled, so that one that is still as the API server answered is
// sent again at intervals, and not in every reconcile: each time admission may change it to something else,
// which is an event. It has at most maxOverrulings entries of about a KiB, and nothing of what was sent.
type overrulings struct {
	mu  sync.Mutex
	all map[types.UID]overruling
}

// overruling is the result of the last time that one child was sent.
type overruling struct {
	namespace string
	sent      digest
	version   string
	at        time.Time
	outcome   Outcome
}

// maxOverrulings is how many children are recorded. What is not recorded is sent in every reconcile.
const maxOverrulings = 1000

// digest identifies what was sent.
type digest [sha256.Size]byte

// digestOf returns the digest of an intent; false if it cannot be encoded.
func digestOf(c Child) (digest, bool) {
	text, err := json.Marshal(c.intent)
	return sha256.Sum256(text), err == nil
}

// still returns the last outcome for a child that has not changed since, and need not be sent again yet.
func (o *overrulings) still(c Child, live client.Object, now time.Time) (Outcome, bool) {
	o.mu.Lock()
	last, found := o.all[live.GetUID()]
	o.mu.Unlock()
	if !found || now.Sub(last.at) >= nameTakenRecheck || last.version != live.GetResourceVersion() {
		return Outcome{}, false
	}
	sent, ok := digestOf(c)
	return last.outcome, ok && sent == last.sent
}

// note records that a child was overruled.
func (o *overrulings) note(c Child, answer client.Object, now time.Time, outcome Outcome) Outcome {
	sent, ok := digestOf(c)
	if !ok {
		return outcome
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[types.UID]overruling{}
	}
	if _, known := o.all[answer.GetUID()]; !known && len(o.all) >= maxOverrulings {
		o.drop()
	}
	o.all[answer.GetUID()] = overruling{answer.GetNamespace(), sent, answer.GetResourceVersion(), now, outcome}
	return outcome
}

// drop removes the oldest entry of the namespace that has most, so that one namespace displaces only its own.
func (o *overrulings) drop() {
	entries := map[string]int{}
	for _, each := range o.all {
		entries[each.namespace]++
	}
	var last types.UID
	for uid, each := range o.all {
		was, found := o.all[last]
		if !found || cmp.Or(cmp.Compare(entries[was.namespace], entries[each.namespace]), each.at.Compare(was.at)) < 0 {
			last = uid
		}
	}
	delete(o.all, last)
}
