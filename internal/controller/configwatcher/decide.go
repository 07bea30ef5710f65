// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/restart"
)

// maxKeysTold is up to how many keys the changed ones are named.
const maxKeysTold = 32

// sourceID tells a source, and which of its keys count, from all others of a watcher.
func sourceID(s v1alpha1.Source) string {
	id := string(s.Kind) + "/" + s.Name
	if len(s.Keys) == 0 {
		return id
	}
	return id + "[keys]"
}

// contentOf is all that a ConfigMap holds. No key is both in data and in binaryData.
func contentOf(o *corev1.ConfigMap) map[string][]byte {
	out := maps.Clone(o.BinaryData)
	if out == nil {
		out = make(map[string][]byte, len(o.Data))
	}
	for k, v := range o.Data {
		out[k] = []byte(v)
	}
	return out
}

// observe makes hashes of what counts of the content of a source.
func observe(key restart.Key, s v1alpha1.Source, content map[string][]byte, meta metav1.Object) restart.Observation {
	o := restart.Observation{
		Source: sourceID(s), Version: meta.GetResourceVersion(), Written: written(meta.GetManagedFields()), OnlyKeys: len(s.Keys) > 0,
	}
	if o.OnlyKeys {
		o.Keys = map[string]restart.Hash{}
		for _, k := range s.Keys {
			v, exists := content[k]
			switch {
			case exists:
				o.Keys[k] = key.Short([]byte(k), v)
			case s.Optional:
				o.Keys[k] = key.Short([]byte(k))
			default:
				o.Absent = append(o.Absent, k)
			}
		}
		return o
	}
	names := slices.Sorted(maps.Keys(content))
	parts := make([][]byte, 0, 2*len(names))
	for _, k := range names {
		parts = append(parts, []byte(k), content[k])
	}
	o.Hash = key.Hash(parts...)
	if len(names) <= maxKeysTold {
		o.Keys = map[string]restart.Hash{}
		for _, k := range names {
			o.Keys[k] = key.Short([]byte(k), content[k])
		}
	}
	return o
}

// written identifies the last writes of the content: of each manager that has written any, the time of its last write, which
// may be one of labels. Empty when nothing is known.
func written(managed []metav1.ManagedFieldsEntry) string {
	h := sha256.New()
	known := false
	for _, m := range managed {
		if m.FieldsV1 == nil || m.Time == nil {
			continue
		}
		fields := m.FieldsV1.GetRawString()
		if !strings.Contains(fields, `"f:data"`) && !strings.Contains(fields, `"f:binaryData"`) {
			continue
		}
		known = true
		fmt.Fprintf(h, "%q %q %d %q\n", m.Manager, m.Operation, m.Time.Unix(), fields)
	}
	if !known {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}
