// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package leaderelection reconciles LeaderElections: it chooses one of the selected pods, marks it with a label and an
// annotation, routes a Service to it, and publishes in a ConfigMap who it is.
//
// It owns two Services, a ConfigMap and a Lease, the ledger, by owner references. Of pods it changes the one label and the one
// annotation, in one patch that names the pod's UID and version, and deletes the old leader if the spec asks for it. It holds
// no pods in memory: whether they are Ready is read from the EndpointSlices of its Services, and pods are read from the API
// server only while there is something to do. It never touches workloads and their templates.
//
// decide.go is the protocol. It is all that may decide who leads.
package leaderelection

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// The conditions of a LeaderElection, in the order of its steps.
const (
	// Accepted: the spec can be carried out in this namespace.
	Accepted = "Accepted"
	// Published: the Services are as they should be.
	Published = "Published"
	// Elected: one of the candidates leads.
	Elected = "Elected"
	// Told: the ConfigMap says who leads.
	Told = "Told"
	// Cleared: the marks are off the pods. While deleting only.
	Cleared = "Cleared"
)

// The reasons of conditions and events, in addition to those of the engine.
const (
	ReasonOverlaps         = "Overlaps"
	ReasonLabelInUse       = "LabelInUse"
	ReasonTooMany          = "TooMany"
	ReasonNoCandidate      = "NoCandidate"
	ReasonLeaderNotReady   = "LeaderNotReady"
	ReasonOldStillStopping = "OldStillStopping"
	ReasonNodeUnreachable  = "NodeUnreachable"
	ReasonLabelRefused     = "LabelRefused"
	ReasonLedgerTaken      = "LedgerTaken"
	ReasonCannotClear      = "CannotClear"

	EventElected    = "Elected"
	EventRevoked    = "Revoked"
	EventHandedOver = "HandedOver"
	EventRepaired   = "Repaired"
)

const (
	// Name is the kind in lower case.
	Name = "leaderelection"
	// Finalizer keeps a LeaderElection that is being deleted until the marks are off the pods.
	Finalizer = "finalizer.coordination.acme.com"

	// maxCandidates is how many pods the selector may match.
	maxCandidates = 1000
	// recheck is how often something is checked that no watch reports.
	recheck = time.Minute
)

var tooMany = fmt.Sprintf("more than %d pods match spec.podSelector; add a label that only the candidates have", maxCandidates)

// Options configures the kind.
type Options struct {
	// MaxConcurrentReconciles is how many objects are reconciled at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=delete;get;list;patch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=list;watch
// +kubebuilder:rbac:groups=coordination.acme.com,resources=leaderelections,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=coordination.acme.com,resources=leaderelections/finalizers,verbs=update
// +kubebuilder:rbac:groups=coordination.acme.com,resources=leaderelections/status,verbs=patch
// +kubebuilder:rbac:groups=coordination.k8s.io,resources=leases,verbs=create;delete;get;list;update;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,resources=endpointslices,verbs=get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Holds are the children.
var Holds = []engine.Held{{Of: &corev1.Service{}}, {Of: &corev1.ConfigMap{}}, {Of: &coordinationv1.Lease{}}}

// Reads are the other types that the kind reads.
var Reads = []client.Object{&discoveryv1.EndpointSlice{}}

// owns are the types of the children that follow the spec.
var owns = []client.Object{&corev1.Service{}, &corev1.ConfigMap{}}

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if err := observeCandidates(mgr.GetCache()); err != nil {
		return fmt.Errorf("registering the metrics of %s: %w", Name, err)
	}
	return engine.Register(mgr, &v1alpha1.LeaderElection{}, engine.Config[*v1alpha1.LeaderElection]{
		Name:      Name,
		Finalizer: Finalizer,
		Owns:      owns,
		Keeps:     []client.Object{&coordinationv1.Lease{}},
		Proves:    proves,
		References: []engine.Reference[*v1alpha1.LeaderElection]{
			{To: &discoveryv1.EndpointSlice{}, Keys: serviceKeys, As: serviceOf},
			{To: &v1alpha1.LeaderElection{}, Keys: labelKeys, As: labelKeysOf, Changed: specChanged},
		},
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, kind{})
}

// proves tells the ledger from a copy of it by its name.
func proves(e *v1alpha1.LeaderElection, child client.Object) bool {
	switch child.(type) {
	case *coordinationv1.Lease, *corev1.ConfigMap:
		return child.GetName() == leaderName(e)
	default:
		return true
	}
}

// serviceKeys are the Services whose EndpointSlices concern an object.
func serviceKeys(e *v1alpha1.LeaderElection) []client.ObjectKey {
	keys := []client.ObjectKey{{Namespace: e.Namespace, Name: membersName(e)}}
	if name := serviceName(e); name != "" {
		keys = append(keys, client.ObjectKey{Namespace: e.Namespace, Name: name})
	}
	return keys
}

func serviceOf(slice client.Object) []client.ObjectKey {
	return []client.ObjectKey{{Namespace: slice.GetNamespace(), Name: slice.GetLabels()[discoveryv1.LabelServiceName]}}
}

// labelKeys are what other objects that mark pods with the same label refer to.
func labelKeys(e *v1alpha1.LeaderElection) []client.ObjectKey {
	return []client.ObjectKey{{Namespace: e.Namespace, Name: labelOf(e).Key}}
}

func labelKeysOf(o client.Object) []client.ObjectKey { return labelKeys(o.(*v1alpha1.LeaderElection)) }

func specChanged(before, now client.Object) bool {
	return before.GetGeneration() != now.GetGeneration() || before.GetDeletionTimestamp().IsZero() != now.GetDeletionTimestamp().IsZero()
}

type kind struct{}

// Steps returns the steps of a LeaderElection.
func (kind) Steps(s engine.Scope[*v1alpha1.LeaderElection]) []engine.Step {
	r := newRun(s)
	return []engine.Step{
		{Condition: Accepted, Run: r.accept},
		{Condition: Published, Run: r.publish},
		{Condition: Elected, Run: r.electAndTell},
		{Condition: Told, Run: r.tell},
	}
}

// run is one reconcile of one object, with the results that its steps share.
type run struct {
	engine.Scope[*v1alpha1.LeaderElection]

	// members are the candidates, as routing knows them.
	members []endpoint
	// led is the leader that the status had when the run began; the zero identity if it had none.
	led identity
	// lease is the ledger as it was read last; nil if there is none.
	lease *coordinationv1.Lease
}

func newRun(s engine.Scope[*v1alpha1.LeaderElection]) *run {
	r := &run{Scope: s}
	r.led = r.leader()
	return r
}

// publish applies the Services. The ConfigMap follows when it is known who leads. What is wrong with a Service delays no
// hand-over: the pods are read from the API server.
func (r *run) publish(ctx context.Context) (engine.Outcome, error) {
	out, err := r.Compose(func() ([]engine.Child, error) {
		children := desiredServices(r.Obj)
		for _, c := range desiredFiles(r.Obj, r.members) {
			children = append(children, c.Later())
		}
		return children, nil
	})(ctx)
	if err == nil && out.GoesOn() || r.Obj.Status.Epoch == 0 {
		return out, err
	}
	_, electErr := r.elect(ctx)
	if p := r.Obj.Status.Pending; p != nil && p.Due != nil {
		out = out.Due(p.Due.Time)
	}
	return out, errors.Join(err, electErr)
}

// electAndTell says in the ConfigMap, too, that there is no leader.
func (r *run) electAndTell(ctx context.Context) (engine.Outcome, error) {
	out, err := r.elect(ctx)
	if r.Obj.Status.Leader != nil || err == nil && out.GoesOn() || apierrors.IsConflict(err) {
		return out, err
	}
	told, tellErr := r.tell(ctx)
	switch {
	case err != nil || tellErr != nil:
		return told, errors.Join(err, tellErr)
	case !told.GoesOn():
		return told, nil
	}
	return out, nil
}

// tell applies the ConfigMap.
func (r *run) tell(ctx context.Context) (engine.Outcome, error) {
	return r.Compose(func() ([]engine.Child, error) {
		return append(desiredServices(r.Obj), desiredFiles(r.Obj, r.members)...), nil
	})(ctx)
}
