// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rebootpolicy reconciles RebootPolicies: when a value in a database changes, it restarts the
// application that depends on it, once.
//
// It makes and owns nothing. Values are read outside of the runs, so that a database that hangs holds up
// nobody; of a value nothing is kept but a keyed hash. A database that cannot be asked restarts nothing,
// and neither does one that is back with the same value.
package rebootpolicy

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/restart"
)

// kindName is the controller's name, and part of the mark on pod templates.
const kindName = "rebootpolicy"

// The conditions of a RebootPolicy, in the order of its steps.
const (
	// Admitted: what is asked for may be done.
	Admitted = "Admitted"
	// UpToDate: the pods run with the value as it is, or a restart waits for its time.
	UpToDate = "UpToDate"
	// ValueRead: the last reading gave a value.
	ValueRead = "ValueRead"
)

// The reasons of conditions and events beside those of sqldb and restart.
const (
	// ReasonCredentialsMissing: the Secret with the credentials, or the certificate authorities, does not
	// exist or lacks a key.
	ReasonCredentialsMissing = "CredentialsMissing"
	// ReasonReading: the value has not been read yet.
	ReasonReading = "Reading"
	// ReasonDatabaseMissing, ReasonDatabaseTerminating, ReasonDatabaseSuspended and ReasonDatabaseNotReady: the Database in
	// databaseRef does not exist, is being deleted, is suspended, or does not run or has no connection Secret.
	ReasonDatabaseMissing     = "DatabaseMissing"
	ReasonDatabaseTerminating = "DatabaseTerminating"
	ReasonDatabaseSuspended   = "DatabaseSuspended"
	ReasonDatabaseNotReady    = "DatabaseNotReady"

	reasonValueChanged = "ValueChanged"
	eventRebased       = "WatchChanged"
	eventTypeChanged   = "TypeChanged"
	eventUnencrypted   = "Unencrypted"
)

// Options is what the kind needs beside the cluster.
type Options struct {
	// Namespace is the operator's own.
	Namespace string
	// Peers are the kinds that restart workloads.
	Peers *restart.Peers
	// Reader reads the values.
	Reader sqldb.Reader
	// MaxConcurrentReconciles is how many objects are worked on at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete;list
// +kubebuilder:rbac:groups="",resources=pods/eviction,verbs=create
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=list
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=list;patch;watch
// +kubebuilder:rbac:groups=autoreboot.acme.com,resources=rebootpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=autoreboot.acme.com,resources=rebootpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=databases.acme.com,resources=databases,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=list

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	restarter, watches, err := restart.Register(mgr, &v1alpha1.RebootPolicy{}, restart.Config[*v1alpha1.RebootPolicy]{
		Kind: kindName, Namespace: o.Namespace, Clock: o.Clock, Peers: o.Peers, Request: requestFor,
	})
	if err != nil {
		return fmt.Errorf("registering what restarts: %w", err)
	}
	k := kind{
		restarter: restarter,
		poller:    newPoller(o.Reader, &o.Peers.Readings, o.Clock),
		secrets:   newSecrets(mgr.GetClient(), mgr.GetAPIReader()),
	}
	if err := mgr.Add(k.poller); err != nil {
		return fmt.Errorf("adding the poller: %w", err)
	}
	return engine.Register(mgr, &v1alpha1.RebootPolicy{}, engine.Config[*v1alpha1.RebootPolicy]{
		Name: kindName,
		References: []engine.Reference[*v1alpha1.RebootPolicy]{
			{To: &corev1.Secret{}, Keys: secretsOf}, {To: &databasesv1alpha1.Database{}, Keys: databasesOf},
		},
		Watches:                 watches,
		Waker:                   k.poller.waker,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, k)
}

type kind struct {
	restarter *restart.Restarter
	poller    *poller
	secrets   *secrets
}

// Forget implements engine.Forgetting.
func (k kind) Forget(key client.ObjectKey, uid types.UID) {
	k.poller.polls.Remove(key.Namespace, uid)
	k.restarter.Forget(key, uid)
}

// Steps is the whole life of a RebootPolicy.
func (k kind) Steps(s engine.Scope[*v1alpha1.RebootPolicy]) []engine.Step {
	r := &run{Scope: s, kind: k, req: requestFor(s.Obj)}
	r.req.Told = s.Told
	return []engine.Step{
		engine.Step{Condition: Admitted, Run: r.admit}.Then(r.poll),
		{Condition: UpToDate, Run: r.keepUpToDate},
		{Condition: ValueRead, Run: r.reportReading},
	}
}

// requestFor is what is to be restarted, and how.
func requestFor(p *v1alpha1.RebootPolicy) restart.Request {
	req := restart.Request{
		Object: p, Policy: p.Spec.Restart, Status: p.Restarts(), Reason: reasonValueChanged,
	}
	if t := p.Spec.Target; t != nil {
		req.Target = &restart.Target{Kind: t.Kind, Name: t.Name}
	} else {
		req.Selector = labels.SelectorFromSet(p.Selector())
	}
	return req
}

// run is one run of one object, with what its steps hand on.
type run struct {
	engine.Scope[*v1alpha1.RebootPolicy]
	kind
	req restart.Request

	// direct is the policy as it would be without databaseRef; nil while that is not known.
	direct *v1alpha1.RebootPolicy
	shared string   // stands for what is watched, and for how it is read
	answer *answer  // nil when the database has not answered yet
	fault  *problem // why it was not asked
}

func (r *run) admit(context.Context) (engine.Outcome, error) {
	if r.unencrypted() && r.Obj.Status.ObservedGeneration != r.Obj.Generation {
		r.Told(func() { r.Event(corev1.EventTypeWarning, eventUnencrypted, "%s", unencrypted) })
	}
	return r.restarter.Check(r.req), nil
}

// unencrypted is what everybody should know who turned encryption off, and unencryptedDatabase who reads from a Database.
const (
	unencrypted         = "connections to the database are not encrypted, because source.tls.mode is Disable"
	unencryptedDatabase = "connections to the Database are not encrypted, because it has no TLS"
)

func (r *run) unencrypted() bool {
	return r.Obj.Spec.Source.TLS != nil && r.Obj.Spec.Source.TLS.Mode == v1alpha1.TLSDisable
}

// poll has the value read when it is time for that, and takes the last answer.
func (r *run) poll(ctx context.Context) (engine.Outcome, error) {
	source, fault, err := r.source(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	if fault != nil {
		r.fault = fault
		return engine.Done(), nil // Secrets and Databases are watched
	}
	key, err := r.restarter.Key(ctx, r.Obj)
	if err != nil {
		return engine.Outcome{}, err
	}
	r.shared = sharedName(r.direct)
	q := question{name: r.shared, source: source, watch: watchOf(r.Obj), seal: key.Hash}
	var next time.Duration
	r.answer, next = r.poller.ask(client.ObjectKeyFromObject(r.Obj), r.Obj.UID, q, r.Obj.EffectiveInterval())
	out := engine.DoneUntil(next)
	switch {
	case r.Obj.Spec.Source.DatabaseRef != nil:
		out = out.Saying(unencryptedDatabase)
	case r.unencrypted():
		out = out.Saying(unencrypted)
	}
	return out, nil
}

// keepUpToDate compares what was read with what the pods run with, and restarts what has to be restarted.
func (r *run) keepUpToDate(ctx context.Context) (engine.Outcome, error) {
	if r.direct != nil {
		r.expectWatch(identity(r.direct))
	}
	if r.answer != nil && !r.answer.failed() {
		r.expectType(r.answer.kind)
		r.req.Observed = []restart.Observation{{Source: sourceName(r.direct), Hash: r.answer.hash, Shared: r.shared}}
	}
	return r.restarter.Run(ctx, r.req)
}

// expectWatch takes the next value as it is when something else is watched than before.
func (r *run) expectWatch(watching string) {
	status := &r.Obj.Status
	if status.Watching == watching {
		return
	}
	if status.Watching != "" {
		restart.Rebase(&status.RestartStatus)
		r.Told(func() {
			r.Event(corev1.EventTypeNormal, eventRebased, "something else is watched now; its value is the baseline, and nothing is restarted for it")
		})
	}
	status.Watching, status.ValueType = watching, ""
}

// expectType takes a value as it is when it is of another type than before: that is a change of the table,
// not of the value. A restart that is in progress continues, and is then for this value, too.
func (r *run) expectType(kind sqldb.Kind) {
	status := &r.Obj.Status
	if !kind.Comparable(sqldb.Kind(status.ValueType)) && status.Pending == nil {
		restart.Rebase(&status.RestartStatus)
		was := status.ValueType
		r.Told(func() {
			r.Event(corev1.EventTypeWarning, eventTypeChanged,
				"the type of the value has changed from %s to %s; it is the new baseline, and nothing is restarted for it", was, kind)
		})
	}
	if kind != sqldb.KindUnknown {
		status.ValueType = string(kind)
	}
}

// reportReading tells what came of the last reading.
func (r *run) reportReading(context.Context) (engine.Outcome, error) {
	switch {
	case r.fault != nil:
		return r.fault.outcome(), nil
	case r.answer == nil:
		return before(r.Obj), nil
	case r.answer.failed():
		return outcomeOf(r.answer.fault), nil
	}
	return engine.Done().Saying("the value has been read; it is read again every " + r.Obj.EffectiveInterval().String()), nil
}
