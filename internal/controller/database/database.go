// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database reconciles Databases: a PostgreSQL or MySQL server of one instance, whose data is not lost by accident.
//
// It owns a StatefulSet, two Services, a connection Secret, a PodDisruptionBudget and a NetworkPolicy by owner references. The claim
// with the data, and the Secret with the accounts, have none, because they may have to outlive their Database: the claim is
// identified by the UID that the status has, and by a mark on its volume, which no tenant can write. Only a finalizer's step deletes
// them, and only with the policy Delete; whatever else happens, the volume is kept.
//
// It never changes data: the agent in the pod does (cmd/database-agent), which it asks over HTTP.
package database

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/config/policy"
	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/dbagent"
	"github.com/acme/platform-operator/internal/inforce"
)

const (
	// Name is the kind in lower case.
	Name = "database"
	// Finalizer keeps a Database that is being deleted until its data is secured.
	Finalizer = "finalizer.databases.acme.com"
)

// The conditions of a Database, in the order of its steps.
const (
	// Bounded: the admission policy that bounds what the operator writes for Databases is in force.
	Bounded = "Bounded"
	// Accepted: the spec can be carried out.
	Accepted = "Accepted"
	// Stored: the claim and the accounts exist.
	Stored = "Stored"
	// Composed: every other child exists as it is wanted.
	Composed = "Composed"
	// Running: the server answers, or is stopped because the spec says so.
	Running = "Running"
	// CredentialsInSync: the password in the connection Secret is the one in the database.
	CredentialsInSync = "CredentialsInSync"
	// DataSecured: the data is kept, or deleted, as the spec says. While deleting only.
	DataSecured = "DataSecured"
)

// The reasons of conditions and events, in addition to those of the engine.
const (
	ReasonPolicyMissing        = "PolicyMissing"
	ReasonPolicyDiffers        = "PolicyDiffers"
	ReasonPolicyUnknown        = "PolicyUnknown"
	ReasonVersionFixed         = "VersionFixed"
	ReasonPasswordMissing      = "PasswordMissing"
	ReasonAgentImageUnknown    = "AgentImageUnknown"
	ReasonDataLost             = "DataLost"
	ReasonClaimTerminating     = "ClaimTerminating"
	ReasonClassCannotExpand    = "ClassCannotExpand"
	ReasonGrowthRejected       = "GrowthRejected"
	ReasonStorageClassMissing  = "StorageClassMissing"
	ReasonStorageFull          = "StorageFull"
	ReasonStarting             = "Starting"
	ReasonSuspended            = "Suspended"
	ReasonNodeLost             = "NodeLost"
	ReasonImagePullFailed      = "ImagePullFailed"
	ReasonAgentImagePullFailed = "AgentImagePullFailed"
	ReasonCrashLoop            = "CrashLoop"
	ReasonUnschedulable        = "Unschedulable"
	ReasonAgentUnreachable     = "AgentUnreachable"
	ReasonPasswordRejected     = "PasswordRejected"
	ReasonPasswordPending      = "PasswordPending"
	ReasonDeletionProtected    = "DeletionProtected"
	ReasonServerStopping       = "ServerStopping"

	EventVolumeKept = "VolumeKept"
	EventAdopted    = "Adopted"
	EventRotated    = "Rotated"
)

// recheck is how often something is checked that no watch reports, soon how often while something is about to change, and look how
// often a database at rest is looked at.
const (
	recheck = time.Minute
	soon    = 2 * time.Second
	look    = 5 * time.Minute
)

// Options configures the kind.
type Options struct {
	// Namespace is where the operator is.
	Namespace string
	// Agents asks agents.
	Agents dbagent.Agent
	// AgentImage returns the image that has the agent; empty if it is not known.
	AgentImage func(context.Context) (string, error)
	// Images are the images of the servers, without tags, by type.
	Images map[v1alpha1.Type]string
	// PullSecrets are the names of Secrets in the namespaces of Databases that images are pulled with.
	PullSecrets []string
	// RunAsUser is the user of the servers; 0 leaves it to the platform.
	RunAsUser int64
	// Version is the operator's own, such as v0.1.0.
	Version string
	// PolicyInterval is how often it is checked whether the policy that bounds the operator is in force.
	PolicyInterval time.Duration
	// MaxConcurrentReconciles is how many objects are reconciled at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=create;delete;get;patch
// +kubebuilder:rbac:groups="",resources=persistentvolumes,verbs=get;patch
// +kubebuilder:rbac:groups="",resources=pods,verbs=get
// +kubebuilder:rbac:groups="",resources=secrets,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicies,resourceNames=platform-operator-database-bounds,verbs=get
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicybindings,resourceNames=platform-operator-database-bounds,verbs=get
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=databases.acme.com,resources=databases,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=databases.acme.com,resources=databases/finalizers,verbs=update
// +kubebuilder:rbac:groups=databases.acme.com,resources=databases/status,verbs=patch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=storage.k8s.io,resources=storageclasses,verbs=get

// owns are the types of the children.
var owns = []client.Object{
	&networkingv1.NetworkPolicy{}, &policyv1.PodDisruptionBudget{}, &corev1.Service{}, &corev1.Secret{}, &appsv1.StatefulSet{},
}

// Holds are the children.
var Holds = func() (all []engine.Held) {
	for _, o := range owns {
		all = append(all, engine.Held{Of: o})
	}
	return all
}()

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	shipped, err := inforce.Parse(policy.DatabaseBounds)
	if err != nil {
		return fmt.Errorf("reading the policy that bounds the operator: %w", err)
	}
	waker := engine.NewWaker()
	bounds := &inforce.Check{
		Live: mgr.GetAPIReader(), Policy: shipped, Interval: o.PolicyInterval,
		Changed: func(ctx context.Context) { waker.WakeAll(ctx, mgr.GetClient(), &v1alpha1.DatabaseList{}) },
	}
	if err := mgr.Add(bounds); err != nil {
		return fmt.Errorf("adding the check of the policy that bounds the operator: %w", err)
	}
	return engine.Register(mgr, &v1alpha1.Database{}, engine.Config[*v1alpha1.Database]{
		Name:      Name,
		Finalizer: Finalizer,
		Owns:      owns,
		Proves:    proves,
		References: []engine.Reference[*v1alpha1.Database]{
			{To: &corev1.Secret{}, Keys: secretKeys},
		},
		Waker:                   waker,
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, kind{o, bounds, engine.NewTopic("status", o.Agents.Status)})
}

// proves tells a child from a copy of it by its name.
func proves(db *v1alpha1.Database, child client.Object) bool {
	switch name := child.GetName(); child.(type) {
	case *appsv1.StatefulSet:
		return name == generationName(db)
	case *corev1.Service:
		return name == baseName(db) || name == generationName(db)
	case *networkingv1.NetworkPolicy:
		return name == policyName(db)
	default:
		return name == baseName(db)
	}
}

// secretKeys are the Secrets that are not children, and whose changes matter.
func secretKeys(db *v1alpha1.Database) []client.ObjectKey {
	keys := []client.ObjectKey{{Namespace: db.Namespace, Name: adminName(db)}}
	if ref := db.Spec.PasswordSecretRef; ref != nil {
		keys = append(keys, client.ObjectKey{Namespace: db.Namespace, Name: ref.Name})
	}
	return keys
}

type kind struct {
	Options

	bounds *inforce.Check
	// status asks the agent at an address.
	status engine.Topic[string, result.Status]
}

// Steps returns the steps of a Database.
func (k kind) Steps(s engine.Scope[*v1alpha1.Database]) []engine.Step {
	r := &run{Scope: s, kind: k}
	return []engine.Step{
		{Condition: Bounded, Run: r.checkBounds},
		{Condition: Accepted, Run: r.accept},
		{Condition: Stored, Run: r.store},
		{Condition: Composed, Run: r.compose},
		{Condition: Running, Run: r.checkServer},
		{Condition: CredentialsInSync, Run: r.checkCredentials},
	}
}

// Finalize returns the steps between the deletion of a Database and its disappearance.
func (k kind) Finalize(s engine.Scope[*v1alpha1.Database]) []engine.Step {
	r := &run{Scope: s, kind: k}
	return []engine.Step{{Condition: DataSecured, Run: r.secureData}}
}

// Summarize derives the phase from the conditions.
func (kind) Summarize(db *v1alpha1.Database) { db.Status.Phase = phaseOf(db) }

// run is one reconcile of one object, with the results that its steps share.
type run struct {
	engine.Scope[*v1alpha1.Database]
	kind

	// fixed is the password that the spec has.
	fixed string
	// version is that of the server.
	version string
	// claim is the claim of the name; nil if there is none. claimIs is what it is to the Database, and server what its data are of.
	claim   *corev1.PersistentVolumeClaim
	claimIs claimState
	server  string
	// set is the StatefulSet; nil if there is none.
	set *appsv1.StatefulSet
	// agent is what the agent reports; answered: it does, and asked: it was asked.
	agent           result.Status
	asked, answered bool
	agentErr        error
	// verdict is what follows for the passwords.
	verdict verdict
	in      input
}

// pace is after how long to look again at what no watch reports: soon after a condition has changed, and the later, the longer it stays.
func (r *run) pace(condition string) time.Duration {
	for _, c := range r.Obj.Status.Conditions {
		if c.Type == condition {
			return paceAfter(r.Clock.Now().Sub(c.LastTransitionTime.Time))
		}
	}
	return soon
}

func (r *run) key(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: r.Obj.Namespace, Name: name}
}

// read reads an object from the API server; false if there is none.
func (r *run) read(ctx context.Context, key client.ObjectKey, o client.Object) (bool, error) {
	err := r.Live.Get(ctx, key, o)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading %T %s: %w", o, key.Name, err)
	}
	return err == nil, nil
}
