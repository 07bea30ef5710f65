// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package configwatcher

import (
	"encoding/json"
	"regexp"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/restart"
)

// unknown is a hash that no content has: whatever is observed differs from it.
var unknown = strings.Repeat("0", 32)

// reading is what the ConfigWatcher of an annotated object has read last. An object that is deleted and created again gets a new
// ConfigWatcher, which begins with that: its pods still run with it.
type reading struct {
	owner   types.UID
	read    common.ObservedSource
	settled bool // the pods run with it
}

// inherit makes what is known from before the baseline of a new ConfigWatcher of an annotated object.
func (r *run) inherit(o client.Object, key restart.Key) {
	if r.req.Status.KeyID != "" || !metav1.IsControlledBy(r.watcher, o) {
		return
	}
	if last, known := r.last(); known && last.owner != o.GetUID() {
		if !last.settled {
			last.read.Hash = unknown
		}
		r.req.Status.KeyID, r.req.Status.Observed = key.ID(), []common.ObservedSource{last.read}
		return
	}
	r.adoptAnnotation(o)
}

// last is what a ConfigWatcher of this name has read last.
func (r *run) last() (reading, bool) {
	return r.readings.Get(r.watcher.Namespace, r.watcher.Name)
}

// remember keeps what was read of an annotated object, and later whether its pods run with it.
func (r *run) remember() {
	owner := metav1.GetControllerOf(r.watcher)
	last, known := r.last()
	switch {
	case owner == nil:
		return
	case r.own != nil:
		last = reading{owner: owner.UID, read: *r.own}
	case !known || last.owner != owner.UID:
		return
	}
	last.settled = r.req.Status.Pending == nil
	r.req.Told(func() { r.readings.Add(r.watcher.Namespace, r.watcher.Name, last) })
}

// A hash, the hash of a single key, and the identity of a key as version 0.1.0 recorded them.
var (
	legacyHash    = regexp.MustCompile(`^[0-9a-f]{32}$`)
	legacyKeyHash = regexp.MustCompile(`^[0-9a-f]{16}$`)
	legacyKeyID   = regexp.MustCompile(`^[0-9a-f]{8}$`)
)

// adoptAnnotation takes what version 0.1.0 recorded in an annotation of the object that a ConfigWatcher belongs to as
// the baseline of its first run. Others can write that annotation: nothing but hashes is taken from it, and nobody
// without the key can make a hash; an old one restarts the pods once.
func (r *run) adoptAnnotation(o client.Object) {
	var was struct {
		UID      types.UID               `json:"uid"`
		KeyID    string                  `json:"keyID"`
		Observed []common.ObservedSource `json:"observed"`
	}
	text, recorded := o.GetAnnotations()[names.AnnotationLegacyStatus]
	if !recorded || json.Unmarshal([]byte(text), &was) != nil || was.UID != o.GetUID() || len(was.Observed) != 1 || !legacyKeyID.MatchString(was.KeyID) {
		return
	}
	if of := was.Observed[0]; isLegacy(of) {
		r.req.Status.KeyID = was.KeyID
		r.req.Status.Observed = []common.ObservedSource{{Source: of.Source, Hash: of.Hash, Keys: of.Keys, Since: of.Since}}
	}
}

// isLegacy reports whether version 0.1.0 can have recorded this.
func isLegacy(o common.ObservedSource) bool {
	for k, h := range o.Keys {
		if len(k) > maxKeyName || !legacyKeyHash.MatchString(h) {
			return false
		}
	}
	return len(o.Source) <= maxSourceName && len(o.Keys) <= maxKeysTold && legacyHash.MatchString(o.Hash)
}

// maxKeyName is how long the name of a key of a ConfigMap or Secret may be, maxSourceName that of a source.
const maxKeyName, maxSourceName = 253, 300
