// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedulerprofile reconciles SchedulerProfiles: it runs a kube-scheduler, or a program, beside the default scheduler, and
// reports whether it serves.
//
// It owns a ConfigMap for each configuration, a Deployment, a PodDisruptionBudget and a Service, all in the operator's namespace, by
// owner references. The Lease is the scheduler's; one that is left behind is removed. Pods that name a scheduler which nobody serves get
// an event. It writes no RBAC and no admission policy: an administrator applies those of
// config/scheduling. It never touches the default scheduler, and of pods that are to be placed it changes nothing.
//
// desired.go turns an object into children, decide.go observations into a verdict.
package schedulerprofile

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/scheduling"
)

// The conditions of a SchedulerProfile, in the order of its steps.
const (
	// Accepted: no other object has the names, and the raw parts of profiles are known.
	Accepted = "Accepted"
	// Granted: the account of the scheduler may do what a scheduler does.
	Granted = "Granted"
	// Supported: there is an image for the version of the cluster.
	Supported = "Supported"
	// Composed: the children are as they should be.
	Composed = "Composed"
	// Serving: the scheduler runs with the wanted configuration.
	Serving = "Serving"
	// Routed: the policies are there that routing and use rely on.
	Routed = "Routed"
)

// The reasons of conditions, in addition to those of the engine and of decide.go.
const (
	ReasonNameTaken         = "NameTaken"
	ReasonRawInvalid        = "RawInvalid"
	ReasonRightsMissing     = "RightsMissing"
	ReasonAccountNotAllowed = "AccountNotAllowed"
	ReasonNoImage           = "NoImage"
	ReasonOwnImage          = "OwnImage"
	ReasonNoNodes           = "NoNodes"
	ReasonPolicyMissing     = "PolicyMissing"
	ReasonNotSupported      = "NotSupported"
)

const (
	// Name is the kind in lower case. Children end in it, so that none is ever called kube-scheduler.
	Name = "schedulerprofile"

	// recheck is how often something is checked that no watch reports, such as the Lease.
	recheck = time.Minute
	// soon is how often pods that start are looked at.
	soon = 3 * time.Second
	// grantCheck is how often missing rights are asked for, and grantKept how long ones that are there count.
	grantCheck, grantKept = 10 * time.Second, 10 * time.Minute
	// versionAsked is how often the API server is asked for its version, and versionKept how long an older answer counts.
	versionAsked, versionKept = time.Minute, 10 * time.Minute
)

// Options configures the kind.
type Options struct {
	// Namespace is the operator's own, in which schedulers run.
	Namespace string
	// Images are the images of kube-scheduler.
	Images scheduling.Images
	// MaxConcurrentReconciles is how many objects are reconciled at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
	// Version returns the major and the minor version of the API server; nil asks it.
	Version Version
}

// +kubebuilder:rbac:groups="",namespace=system,resources=configmaps;services,verbs=create;delete;get;patch
// +kubebuilder:rbac:groups="",namespace=system,resources=pods,verbs=list
// +kubebuilder:rbac:groups="",namespace=system,resources=serviceaccounts,verbs=get
// +kubebuilder:rbac:groups=apps,namespace=system,resources=deployments,verbs=create;delete;get;patch
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=system,resources=leases,verbs=delete;get;list
// +kubebuilder:rbac:groups=policy,namespace=system,resources=poddisruptionbudgets,verbs=create;delete;get;patch
// +kubebuilder:rbac:groups="",resources=configmaps;nodes;pods;services,verbs=list;watch
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingadmissionpolicybindings,resourceNames=platform-operator-scheduler-routing,verbs=get
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingadmissionpolicybindings,resourceNames=platform-operator-scheduler-use,verbs=get
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=list;watch
// +kubebuilder:rbac:groups=authorization.k8s.io,resources=subjectaccessreviews,verbs=create
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=list;watch
// +kubebuilder:rbac:groups=scheduling.acme.com,resources=schedulerprofiles,verbs=get;list;watch
// +kubebuilder:rbac:groups=scheduling.acme.com,resources=schedulerprofiles/finalizers,verbs=update
// +kubebuilder:rbac:groups=scheduling.acme.com,resources=schedulerprofiles/status,verbs=patch

// Holds are the children.
var Holds = []engine.Held{{Of: &appsv1.Deployment{}}, {Of: &corev1.ConfigMap{}}, {Of: &corev1.Service{}}, {Of: &policyv1.PodDisruptionBudget{}}}

// owns are the types of the children.
var owns = []client.Object{&appsv1.Deployment{}, &corev1.ConfigMap{}, &corev1.Service{}, &policyv1.PodDisruptionBudget{}}

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Version == nil {
		ask, err := asking(mgr)
		if err != nil {
			return fmt.Errorf("registering %s: %w", Name, err)
		}
		o.Version = ask
	}
	u, err := newUnserved(mgr, o)
	if err == nil {
		err = mgr.Add(u)
	}
	if err == nil {
		err = engine.Observe(u)
	}
	if err != nil {
		return fmt.Errorf("registering %s: %w", Name, err)
	}
	k := &kind{
		Options: o, cluster: &cluster{ask: o.Version, clock: o.Clock}, grants: &grants{clock: o.Clock},
		renewals: &renewals{clock: o.Clock}, waiting: u.waiting,
	}
	return engine.Register(mgr, &v1alpha1.SchedulerProfile{}, engine.Config[*v1alpha1.SchedulerProfile]{
		Name:   Name,
		Owns:   owns,
		Places: func(*v1alpha1.SchedulerProfile) []string { return []string{o.Namespace} },
		Proves: proves,
		References: []engine.Reference[*v1alpha1.SchedulerProfile]{
			{To: &v1alpha1.SchedulerProfile{}, Keys: profileKeys, As: profileKeysOf, Changed: specChanged},
			{To: &corev1.Node{}, Keys: allNodes[*v1alpha1.SchedulerProfile], As: allNodes[client.Object], Changed: labelsChanged},
		},
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, k)
}

// proves tells children by their names.
func proves(p *v1alpha1.SchedulerProfile, child client.Object) bool {
	if _, is := child.(*corev1.ConfigMap); is {
		return isConfigName(p, child.GetName())
	}
	return child.GetName() == childName(p)
}

// profileKeys are the names of profiles, by which an object is found when another one lets them go.
func profileKeys(p *v1alpha1.SchedulerProfile) (keys []client.ObjectKey) {
	for _, profile := range p.Spec.Profiles {
		keys = append(keys, client.ObjectKey{Name: profile.SchedulerName})
	}
	return keys
}

func profileKeysOf(o client.Object) []client.ObjectKey {
	return profileKeys(o.(*v1alpha1.SchedulerProfile))
}

func specChanged(before, now client.Object) bool {
	return before.GetGeneration() != now.GetGeneration()
}

// allNodes is the one key under which every object refers to every node.
func allNodes[O client.Object](O) []client.ObjectKey { return []client.ObjectKey{{Name: "*"}} }

func labelsChanged(before, now client.Object) bool {
	return !maps.Equal(before.GetLabels(), now.GetLabels())
}

type kind struct {
	Options
	cluster  *cluster
	grants   *grants
	renewals *renewals
	waiting  *waiting
}

// Steps returns the steps of a SchedulerProfile.
func (k *kind) Steps(s engine.Scope[*v1alpha1.SchedulerProfile]) []engine.Step {
	r := &run{Scope: s, kind: k, in: input{profile: s.Obj, namespace: k.Namespace}}
	return []engine.Step{
		{Condition: Accepted, Run: r.accept},
		{Condition: Granted, Run: r.grant},
		{Condition: Supported, Run: r.support},
		{Condition: Composed, Run: r.compose},
		{Condition: Serving, Run: r.serve},
		{Condition: Routed, Run: r.route},
	}
}

// run is one reconcile of one object, with the results that its steps share.
type run struct {
	engine.Scope[*v1alpha1.SchedulerProfile]
	kind *kind

	// server is the minor version of the API server, and minor that of the scheduler; 0 if it is not known.
	server, minor int
	in            input
	// pods are those of the scheduler, coming the hashes of configurations that pods may get that are not there yet, and lease is its
	// Lease, without a version if there is none.
	pods   []pod
	coming []string
	lease  *coordinationv1.Lease
}
