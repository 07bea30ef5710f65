// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes the archive for a bug report: what is there and how it is, by names only. Redaction is an allow-list: what is
// not named here as harmless is left out, so that no field of a newer operator gets in. It is pure.
package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/doctor"
)

// Found is what was read for a report.
type Found struct {
	// Version is that of the plugin, Namespace the one that was looked at; empty for all.
	Version, Namespace string
	// Objects are the operator's, by kind. Children are the metadata of what exists because of them.
	Objects  map[string][]*unstructured.Unstructured
	Children []*unstructured.Unstructured
	// Events are those of the objects.
	Events []*unstructured.Unstructured
	// Installation and Diagnosis are the installation, and what is wrong with it.
	Installation doctor.Installation
	Diagnosis    doctor.Diagnosis
	// Hidden is what could not be read.
	Hidden plugin.Hidden
	// Notes say what is missing besides.
	Notes []string
	// Now is the time of the report.
	Now time.Time
}

// Note notes what is missing, once.
func (f *Found) Note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(f.Notes, text) {
		f.Notes = append(f.Notes, text)
	}
}

// readme is the first file of the archive.
const readme = `This is what kubectl acme report has found, for a bug report about the Acme Platform Operator.

It has names, numbers, times, states and reasons: of objects of the operator's kinds, of what exists because of them, and of the
operator's installation. It has no content of Secrets and ConfigMaps, no values of environment variables, arguments, labels and
annotations, and no free text. Of a text only its length is here: <text of 12 characters>. Names of objects, of images, of users and
of namespaces are in it: look through it before you hand it out.

The operator's log is not in it. It names objects, too; add what you want to show:
  kubectl logs -n NAMESPACE -l control-plane=controller-manager --tail=1000
`

// Archive returns the archive: a tar, compressed by gzip. The same input gives the same archive.
func Archive(f Found) ([]byte, error) {
	files := map[string]any{
		"about.json": map[string]any{
			"plugin": f.Version, "kubernetes": f.Installation.Server.Value, "namespace": f.Namespace,
			"time": f.Now.UTC().Format(time.RFC3339), "hidden": hidden(f.Hidden), "notes": f.Notes,
		},
		"doctor.json":       findings(f.Diagnosis),
		"children.json":     children(f.Children),
		"events.json":       events(f.Events),
		"installation.json": installation(f.Installation),
	}
	for kind, objects := range f.Objects {
		files["objects/"+strings.ToLower(kind)+".json"] = each(objects, object)
	}
	var out bytes.Buffer
	compressed := gzip.NewWriter(&out)
	archive := tar.NewWriter(compressed)
	if err := add(archive, "README.txt", []byte(readme), f.Now); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		var text strings.Builder
		e := json.NewEncoder(&text)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		err := e.Encode(files[name])
		if err == nil {
			err = add(archive, name, []byte(plugin.EscapeControls(text.String())), f.Now)
		}
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	err := compressed.Close()
	return out.Bytes(), err
}

// folder is where all files of an archive are.
const folder = "acme-report/"

func add(archive *tar.Writer, name string, content []byte, now time.Time) error {
	err := archive.WriteHeader(&tar.Header{
		Name: folder + name, Mode: 0o600, Size: int64(len(content)), ModTime: now.UTC().Truncate(time.Second), Format: tar.FormatUSTAR,
	})
	if err == nil {
		_, err = archive.Write(content)
	}
	return err
}

func each(objects []*unstructured.Unstructured, of func(*unstructured.Unstructured) map[string]any) []map[string]any {
	all := []map[string]any{}
	for _, o := range objects {
		all = append(all, of(o))
	}
	slices.SortStableFunc(all, func(a, b map[string]any) int {
		return strings.Compare(fmt.Sprint(a["metadata"]), fmt.Sprint(b["metadata"]))
	})
	return all
}

// findings are those of doctor. What they say may quote answers of the API server and of webhooks, so that only what was checked, and
// how that is, is taken: the rest of the archive has what they follow from.
func findings(d doctor.Diagnosis) []map[string]any {
	all := []map[string]any{}
	for _, f := range d.Findings {
		all = append(all, map[string]any{"check": f.Check, "level": f.Level})
	}
	return all
}

// hidden is what could not be read. Why is left out, because errors may quote anything.
func hidden(h plugin.Hidden) []string {
	h.Failed = slices.Clone(h.Failed)
	for i, text := range h.Failed {
		h.Failed[i], _, _ = strings.Cut(text, " ")
	}
	return h.Sentences()
}

func children(objects []*unstructured.Unstructured) []map[string]any {
	return each(objects, func(o *unstructured.Unstructured) map[string]any {
		return map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": metadata(o)}
	})
}

func events(objects []*unstructured.Unstructured) []map[string]any {
	return each(objects, func(o *unstructured.Unstructured) map[string]any {
		out := map[string]any{"metadata": metadata(o)}
		for _, field := range []string{"type", "reason", "count", "firstTimestamp", "lastTimestamp", "eventTime"} {
			if value := harmless(field, o.Object[field]); value != nil {
				out[field] = value
			}
		}
		about, _, _ := unstructured.NestedMap(o.Object, "involvedObject")
		out["involvedObject"] = pick(about, "kind", "namespace", "name", "uid")
		return out
	})
}

// object is what may be told of an object of the operator's kinds.
func object(o *unstructured.Unstructured) map[string]any {
	out := map[string]any{"apiVersion": o.GetAPIVersion(), "kind": o.GetKind(), "metadata": metadata(o)}
	properties, _ := doctor.Schema(o.GroupVersionKind())["properties"].(map[string]any)
	for _, part := range []string{"spec", "status"} {
		if value, found := o.Object[part]; found {
			out[part] = redacted(part, properties[part], value)
		}
	}
	return out
}

// metadata is what may be told of metadata: of labels and annotations the keys, of managed fields who wrote them and when.
func metadata(o *unstructured.Unstructured) map[string]any {
	out := map[string]any{"name": o.GetName(), "generation": o.GetGeneration(), "resourceVersion": o.GetResourceVersion(), "uid": string(o.GetUID())}
	if o.GetNamespace() != "" {
		out["namespace"] = o.GetNamespace()
	}
	if at := o.GetCreationTimestamp(); !at.Time.IsZero() {
		out["creationTimestamp"] = at.UTC().Format(time.RFC3339)
	}
	if at := o.GetDeletionTimestamp(); at != nil {
		out["deletionTimestamp"] = at.UTC().Format(time.RFC3339)
	}
	for field, keys := range map[string][]string{
		"labels": slices.Sorted(maps.Keys(o.GetLabels())), "annotations": slices.Sorted(maps.Keys(o.GetAnnotations())), "finalizers": o.GetFinalizers(),
	} {
		if len(keys) > 0 {
			out[field] = keys
		}
	}
	var owners, writers []string
	for _, ref := range o.GetOwnerReferences() {
		owners = append(owners, ref.Kind+" "+ref.Name+" "+string(ref.UID))
	}
	for _, entry := range o.GetManagedFields() {
		writers = append(writers, strings.TrimSpace(entry.Manager+" "+string(entry.Operation)+" "+entry.Subresource))
	}
	if len(owners) > 0 {
		out["owners"] = owners
	}
	if len(writers) > 0 {
		out["writers"] = writers
	}
	return out
}

// named are the fields whose texts are names, or words of an enumeration, of the operator's kinds and of Kubernetes.
var named = map[string]bool{
	"apiVersion": true, "kind": true, "name": true, "namespace": true, "namespaceName": true, "uid": true, "type": true, "status": true, "reason": true,
	"lastTransitionTime": true, "deploymentTier": true, "deletionPolicy": true, "phase": true, "cronSpec": true, "timeZone": true,
	"concurrencyPolicy": true, "missedRuns": true, "image": true, "webAppImage": true, "configMap": true, "secretName": true, "claimName": true,
	"serviceAccountName": true, "schedulerName": true, "priorityClassName": true, "className": true, "key": true, "isolation": true, "protocol": true,
	"strategy": true, "mode": true, "pod": true, "node": true, "leader": true, "firstTimestamp": true,
	"lastTimestamp": true, "eventTime": true, "lastScheduleTime": true, "lastSuccessfulTime": true, "notBefore": true, "due": true, "startTime": true,
	"at": true, "since": true, "started": true, "ended": true, "outcome": true, "job": true, "podSecurity": true,
}

// word is what names, times and words of enumerations look like: no spaces, and no signs of encoded content.
var word = regexp.MustCompile(`^[A-Za-z0-9*?][A-Za-z0-9 ._:/@*?,#-]{0,252}$`)

// field is what names of fields look like. Other keys are the user's own.
var field = regexp.MustCompile(`^[a-z][A-Za-z0-9]{0,62}$`)

// open are the fields whose keys are the user's own.
var open = map[string]bool{
	"config": true, "data": true, "stringData": true, "binaryData": true, "labels": true, "annotations": true, "matchLabels": true, "podSelector": true,
	"nodeSelector": true, "raw": true, "args": true, "command": true, "env": true, "where": true, "query": true, "ledger": true, "parameters": true,
}

// redacted is what may be told of a value: numbers and truths, texts of fields that are named above, and the form of all else. What the
// schema of this version does not know, and maps with keys of the user's own, have a form only: no key and no name in them counts.
func redacted(name string, schema, value any) any {
	known, _ := schema.(map[string]any)
	if known == nil {
		name = ""
	}
	switch value := value.(type) {
	case map[string]any:
		return redactedMap(name, known, value)
	case []any:
		return redactedList(name, known, value)
	case string:
		return textOf(name, value)
	}
	return value
}

func redactedMap(name string, schema, value map[string]any) any {
	properties, _ := schema["properties"].(map[string]any)
	if open[name] || properties == nil || schema["x-kubernetes-preserve-unknown-fields"] == true {
		return entries(len(value))
	}
	out, others := map[string]any{}, 0
	for key, each := range value {
		if !field.MatchString(key) {
			others++
			continue
		}
		out[key] = redacted(key, properties[key], each)
	}
	if others > 0 {
		out["<other entries>"] = others
	}
	return out
}

func redactedList(name string, schema map[string]any, value []any) any {
	switch {
	case schema["items"] == nil:
		return entries(len(value))
	case name == "env":
		name = "variable" // each has a name, and a value that is not told
	case open[name]:
		return entries(len(value))
	}
	out := []any{}
	for _, each := range value {
		out = append(out, redacted(name, schema["items"], each))
	}
	return out
}

func entries(n int) string { return fmt.Sprintf("<%d entries>", n) }

func textOf(name, value string) string {
	if value == "" || named[name] && word.MatchString(value) {
		return value
	}
	return fmt.Sprintf("<text of %d characters>", len([]rune(value)))
}

// harmless is a plain value of a field; nil if it has none.
func harmless(name string, value any) any {
	switch value := value.(type) {
	case string:
		return textOf(name, value)
	case int64, float64, bool:
		return value
	}
	return nil
}

// pick are some fields of a map.
func pick(from map[string]any, names ...string) map[string]any {
	out := map[string]any{}
	for _, name := range names {
		if value := harmless(name, from[name]); value != nil {
			out[name] = value
		}
	}
	return out
}

// Marked is the label selector of what the operator has made.
const Marked = names.LabelOwnerUID
