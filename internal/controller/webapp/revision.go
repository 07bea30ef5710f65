// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

const (
	// keptRevisions is how many revisions a WebApp has at most.
	keptRevisions = 10

	revisionSuffix = "revision-"
)

// copyAround copies the fields of which a revision holds nothing, because they do not decide what the pods are. They always
// follow the spec, also during a rollback. All other fields belong to a revision.
func copyAround(to, from *v1alpha1.WebAppSpec) {
	to.WebAppHostname, to.Ingress, to.Isolation = from.WebAppHostname, from.Ingress, from.Isolation
	to.WebAppReplicas, to.Autoscaling, to.MaxUnavailable = from.WebAppReplicas, from.Autoscaling, from.MaxUnavailable
	to.Strategy, to.RevisionHistoryLimit, to.Migration = from.Strategy, from.RevisionHistoryLimit, from.Migration
	to.Publish, to.RestartOnChange, to.WebAppRollout = from.Publish, from.RestartOnChange, from.WebAppRollout
}

// content is what a revision holds: the part of a spec that decides what the pods are.
type content struct {
	data []byte
	hash string
}

// contentOf gives the content of a spec. Equal specs have equal contents, in every version of the operator.
func contentOf(spec v1alpha1.WebAppSpec) (content, error) {
	copyAround(&spec, &v1alpha1.WebAppSpec{})
	text, err := json.Marshal(spec)
	if err == nil {
		text, err = canonical(text)
	}
	if err != nil {
		return content{}, fmt.Errorf("encoding the spec as a revision: %w", err)
	}
	sum := sha256.Sum256(text)
	return content{text, hex.EncodeToString(sum[:])}, nil
}

// canonical is JSON with sorted keys and without spaces, as the API server stores it.
func canonical(text []byte) ([]byte, error) {
	var value any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // large integers are no float64
	if err := d.Decode(&value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// version is what there is on record of a revision: its content, and the object with it. The zero value is none.
type version struct {
	content
	app *v1alpha1.WebApp
}

// versionOf is the object with the content of a revision.
func versionOf(app *v1alpha1.WebApp, c content) (version, error) {
	then := *app
	spec, err := restored(app.Spec, c)
	then.Spec = spec
	return version{c, &then}, err
}

// lead decides what the children are made from: the version that is wanted, once its pods may start. As long as it is held back,
// that is the version that the pods are made from at present, with the fields of the spec that are around the pods. If there is no
// record of that one, the Deployment stays as it is.
func lead(app *v1alpha1.WebApp, wanted, present version, held bool) input {
	switch {
	case held && present.app == nil:
		return input{app: cmp.Or(wanted.app, app), keep: true}
	case held && wanted.hash != present.hash:
		return input{app: present.app, next: wanted.app, content: present.content}
	case held:
		return input{app: present.app, content: present.content}
	default:
		return input{app: wanted.app, content: wanted.content}
	}
}

// restored is a spec with the content of a revision.
func restored(spec v1alpha1.WebAppSpec, c content) (v1alpha1.WebAppSpec, error) {
	var then v1alpha1.WebAppSpec
	if err := json.Unmarshal(c.data, &then); err != nil {
		return then, fmt.Errorf("decoding a revision: %w", err)
	}
	copyAround(&then, &spec)
	return then, nil
}

// revisionName is the name of the ControllerRevision of a content. It follows from the content, so that a second run makes
// no second one.
func revisionName(app *v1alpha1.WebApp, hash string) string {
	return names.Job(app.Name, revisionSuffix+hash[:min(len(hash), names.DigestLength)])
}

// revisionChild records a content. The data of a ControllerRevision cannot be changed: one with other data is replaced.
func (in input) revisionChild() engine.Child {
	record := appsv1ac.ControllerRevision(revisionName(in.app, in.content.hash), in.app.Namespace).
		WithData(runtime.RawExtension{Raw: in.content.data}).WithRevision(in.revision)
	return engine.NewChild[appsv1.ControllerRevision](record, extractRevision).OrReplace()
}

// recorded are all children, and after them, so that no pod waits for it, the record of the revision that they are made from.
func (in input) recorded(others []engine.Child, err error) ([]engine.Child, error) {
	if err != nil || in.keep {
		return others, err
	}
	return append(others, in.revisionChild()), nil
}

// extractRevision gives the fields of a ControllerRevision that a field manager owns, with its data as contentOf writes it.
func extractRevision(live *appsv1.ControllerRevision, manager string) (*appsv1ac.ControllerRevisionApplyConfiguration, error) {
	record, err := appsv1ac.ExtractControllerRevision(live, manager)
	if err == nil && record.Data != nil {
		record.Data.Raw, err = canonical(record.Data.Raw)
	}
	return record, err
}

// readRevision gives the content of a ControllerRevision, if it is the one on record.
func readRevision(live *appsv1.ControllerRevision, hash string) (content, bool) {
	text, err := canonical(live.Data.Raw)
	sum := sha256.Sum256(text)
	return content{text, hash}, err == nil && hex.EncodeToString(sum[:]) == hash
}

// cause is why the pods are made from a revision.
type cause int

const (
	bySpec    cause = iota // the spec says what it does
	byUser                 // spec.rollbackTo names it
	byBoth                 // spec.rollbackTo names it, and the spec says what it does
	byFailure              // another one has failed
)

// course is the revision that the pods are to be made from, and why.
type course struct {
	number int64
	// hash is that of the content; empty when there is no such revision.
	hash string
	why  cause
}

// choose decides which revision the pods are to be made from. The hash is that of the spec's own content.
func choose(app *v1alpha1.WebApp, own string) course {
	switch {
	case app.Spec.RollbackTo != nil:
		return named(app, *app.Spec.RollbackTo, byUser, own)
	case holdsRollback(app, own):
		return named(app, app.Status.RolledBack.To, byFailure, own)
	default:
		return course{numberOf(&app.Status, own), own, bySpec}
	}
}

// named is the course to the revision of a number.
func named(app *v1alpha1.WebApp, number int64, why cause, own string) course {
	c := course{number, hashOf(&app.Status, number), why}
	if c.hash == own && why == byUser {
		c.why = byBoth
	}
	return c
}

// holdsRollback reports whether an automatic rollback is still in force: as long as the spec asks for the very revision that
// has failed, and for automatic rollbacks.
func holdsRollback(app *v1alpha1.WebApp, own string) bool {
	r := app.Status.RolledBack
	return r != nil && app.Spec.AutoRollback && app.Spec.RollbackTo == nil && hashOf(&app.Status, r.Revision) == own
}

// recordOf is the revision of a number; empty when there is none.
func recordOf(status *v1alpha1.WebAppStatus, number int64) v1alpha1.Revision {
	for _, r := range status.Revisions {
		if r.Number == number {
			return r
		}
	}
	return v1alpha1.Revision{}
}

// hashOf is the hash of a revision; empty when there is none of that number.
func hashOf(status *v1alpha1.WebAppStatus, number int64) string { return recordOf(status, number).Hash }

// numberOf is the number of the revision with a content. A new one gets the next number.
func numberOf(status *v1alpha1.WebAppStatus, hash string) int64 {
	for _, r := range status.Revisions {
		if r.Hash == hash {
			return r.Number
		}
	}
	return status.LastRevision + 1
}

// madeFrom is the hash of the revision that the pods are made from: as the Deployment says, or, if there is none or somebody has
// changed what it says, as the status does.
func madeFrom(deployment *held, status *v1alpha1.WebAppStatus) string {
	if deployment != nil && deployment.ours.ObjectMetaApplyConfiguration != nil {
		if hash := deployment.ours.Annotations[AnnotationRevision]; hash != "" {
			return hash
		}
	}
	return hashOf(status, status.Revision)
}

// take records the course. The pods are made from an object with the content of the revision. Of too many revisions the one that
// was used longest ago is forgotten, but never the one that serves.
func take(app *v1alpha1.WebApp, c course, made *v1alpha1.WebApp, own string) {
	status := &app.Status
	if !holdsRollback(app, own) {
		status.RolledBack = nil
	}
	if status.Revision != c.number {
		status.Revision, status.Rollout = c.number, &v1alpha1.Rollout{}
	}
	status.LastRevision = max(status.LastRevision, c.number)
	is := v1alpha1.Revision{Number: c.number, Image: made.Spec.WebAppImage, Hash: c.hash, Migrated: recordOf(status, c.number).Migrated}
	if migration := migrationName(made); hasMigrated(status, migration) {
		is.Migrated = cmp.Or(migration, is.Migrated)
	}
	if len(status.Revisions) > 0 && status.Revisions[0] == is {
		return
	}
	all := []v1alpha1.Revision{is}
	for _, r := range status.Revisions {
		if r.Number != c.number {
			all = append(all, r)
		}
	}
	for len(all) > keptRevisions {
		last := len(all) - 1
		if all[last].Number == status.ServingRevision {
			last--
		}
		all = slices.Delete(all, last, last+1)
	}
	status.Revisions = all
}

// isKept reports whether a ControllerRevision is that of a revision on record.
func isKept(app *v1alpha1.WebApp, name string) bool {
	return slices.ContainsFunc(app.Status.Revisions, func(r v1alpha1.Revision) bool { return revisionName(app, r.Hash) == name })
}
