// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/names"
)

// nextReading is when a value is to be read that was read last at a time. Every object has a moment of its
// own in the interval, so that objects that were made together do not read together, and keeps it whatever
// is restarted. The first reading, which is at once, may come shortly before that moment; then it is skipped.
func nextReading(last time.Time, interval time.Duration, uid types.UID) time.Time {
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid)) // a hash takes everything
	const moments = 1 << 20
	phase := interval / moments * time.Duration(h.Sum32()%moments)
	next := last.Add(interval - (time.Duration(last.UnixNano())-phase)%interval)
	if next.Sub(last) < interval/2 {
		next = next.Add(interval)
	}
	return next
}

// slowest is the longest time between two readings of a value whose statement hangs, unless its interval is longer.
const slowest = 10 * time.Minute

// slowed is the time between two readings after a number of them in a row ran into the statement's time limit.
func slowed(interval time.Duration, hung int) time.Duration {
	for ; hung > 0 && interval < slowest; hung-- {
		interval = min(2*interval, slowest)
	}
	return interval
}

// watchOf is which value is read.
func watchOf(p *v1alpha1.RebootPolicy) sqldb.Watch {
	w := p.Spec.Watch
	return sqldb.Watch{Table: w.Table, Column: w.Column, Where: w.Where, Query: w.Query}
}

// identity stands for what is watched: another one means that values cannot be compared. Who reads it, and
// how, is no part of it.
func identity(p *v1alpha1.RebootPolicy) string {
	s, w := p.Spec.Source, p.Spec.Watch
	h := sha256.New()
	for _, part := range []string{string(s.Type), s.Host, fmt.Sprint(s.EffectivePort()), s.Database, w.Table, w.Column, w.Where, w.Query} {
		_ = binary.Write(h, binary.BigEndian, uint64(len(part))) // a hash takes everything
		_, _ = h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// sharedName stands for what is watched, and for how it is read, among the policies of all namespaces: a policy that
// trusts other servers, or logs in as somebody else, may read something else.
func sharedName(p *v1alpha1.RebootPolicy) string {
	source, err := json.Marshal(p.Spec.Source)
	if err != nil {
		return string(p.UID) // a type that was decoded can be encoded
	}
	return fmt.Sprintf("%s/%s/%s", p.Namespace, identity(p), source)
}

// sourceOf is a Database as a policy without databaseRef would name it. It follows from name and spec alone: a connection Secret
// that somebody has edited leads nowhere else.
func sourceOf(db *databasesv1alpha1.Database) v1alpha1.DatabaseSource {
	return v1alpha1.DatabaseSource{
		Type: v1alpha1.DatabaseType(db.Spec.Type), Host: names.DatabaseHost(db.Namespace, db.Name), Database: db.Spec.DatabaseName,
		CredentialsSecretRef: v1alpha1.CredentialsReference{
			Name: names.DatabaseName(db.Name), UsernameKey: "username", PasswordKey: "password", // as the Service Binding specification has it
		},
		TLS: &v1alpha1.SourceTLS{Mode: v1alpha1.TLSDisable}, // a Database has none
	}
}

// unavailable is why nothing is read from a Database, which is nil if it does not exist; nil if it can be read.
func unavailable(name string, db *databasesv1alpha1.Database) *problem {
	switch {
	case db == nil:
		return &problem{reason: ReasonDatabaseMissing, message: "the Database " + name + " does not exist; create it, or name another one in " +
			"source.databaseRef" + kept}
	case db.DeletionTimestamp != nil:
		return &problem{reason: ReasonDatabaseTerminating, message: "the Database " + name + " is being deleted; name another one in " +
			"source.databaseRef, or create it again once it is gone" + kept}
	case db.Spec.Suspended:
		return &problem{reason: ReasonDatabaseSuspended, message: "the Database " + name + " is suspended; set its spec.suspended to false" + kept}
	case db.Status.Phase == databasesv1alpha1.PhaseRunning:
		return nil
	case db.Status.Phase == databasesv1alpha1.PhasePending && db.Status.SecretName != "":
		return nil // its server ran before its spec could not be carried out, and may still run
	default:
		return notReady(name, "does not run")
	}
}

// unconnected is why nothing is read from a Database whose connection Secret does not exist, is another owner's, or lacks a key.
func unconnected(name string) *problem {
	return notReady(name, "has no connection Secret of its own with user name and password")
}

func notReady(name, why string) *problem {
	return &problem{reason: ReasonDatabaseNotReady, passes: true, message: "the Database " + name + " " + why + "; see its conditions" + kept}
}

// sourceName names what is watched in events and in the history.
func sourceName(p *v1alpha1.RebootPolicy) string {
	value := "query"
	if w := p.Spec.Watch; w.Query == "" {
		value = w.Table + "." + w.Column
	}
	return string(p.Spec.Source.Type) + "/" + p.Spec.Source.Database + "/" + value
}

// kept ends the message of what keeps a value from being read.
const kept = ". The last value is kept, and nothing is restarted"

// outcomeOf is what a reading without a value means: the source has to recover by itself, or a user has to
// change something. In both cases it is read again in time, and nothing is restarted.
func outcomeOf(fault *sqldb.Error) engine.Outcome {
	switch fault.Reason {
	case sqldb.Unreachable, sqldb.TimedOut:
		return engine.Wait(0, string(fault.Reason), fault.Message+kept).Warning()
	default:
		return engine.Block(string(fault.Reason), fault.Message+kept)
	}
}

// unread are the reasons for which nothing was read: over, once something is.
var unread = []string{
	ReasonCredentialsMissing, ReasonReading, ReasonDatabaseMissing, ReasonDatabaseTerminating, ReasonDatabaseSuspended, ReasonDatabaseNotReady,
}

// before is what was reported of this version of the spec before the operator was started: it still holds until
// the value is read again.
func before(p *v1alpha1.RebootPolicy) engine.Outcome {
	conditions := p.Status.Conditions
	was, stalled := meta.FindStatusCondition(conditions, ValueRead), meta.FindStatusCondition(conditions, engine.Stalled)
	switch {
	case was == nil || was.ObservedGeneration != p.Generation || was.Status == metav1.ConditionUnknown ||
		slices.Contains(unread, was.Reason):
		return engine.Wait(0, ReasonReading, "the value is being read")
	case was.Status == metav1.ConditionTrue:
		return engine.Done().Saying(was.Message)
	case stalled != nil && stalled.Reason == was.Reason:
		return engine.Block(was.Reason, was.Message)
	default:
		return engine.Wait(0, was.Reason, was.Message).Warning()
	}
}
