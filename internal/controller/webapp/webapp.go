// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webapp reconciles WebApps: web applications, each from one manifest.
//
// It makes a Deployment, a Service and an Ingress, and what belongs to them: a ServiceAccount without a token, a ConfigMap
// with the application's files, a PodDisruptionBudget, a HorizontalPodAutoscaler, a NetworkPolicy, and a ConfigWatcher that
// rolls the pods when what others own in their environment changes. All of them are owned
// by owner references, repaired, and deleted once they are not wanted any more; they go with the WebApp, so that it needs
// no finalizer.
//
// It never changes claims, Secrets, or anything of another namespace, and never takes a field from somebody else that the
// spec does not ask for: replicas under an autoscaler, or resources that were set by hand.
package webapp

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// Name is the kind in lower case.
const Name = "webapp"

// The conditions of a WebApp, in the order of its steps.
const (
	// Admitted: the host name and path are this object's, and its namespace may have them.
	Admitted = "Admitted"
	// Composed: every child that was asked for exists as it is wanted.
	Composed = "Composed"
	// DatabaseReady: the connection to the database is known, or none is asked for.
	DatabaseReady = "DatabaseReady"
	// Migrated: the migration of the present version has succeeded, or none is asked for.
	Migrated = "Migrated"
	// Deployed: all pods run the present version and serve.
	Deployed = "Deployed"
	// UpToDate: changes of the content of the environment roll the pods, or need not.
	UpToDate = "UpToDate"
	// Autoscaled: the autoscaler works, or none was asked for.
	Autoscaled = "Autoscaled"
	// Exposed: the application is reached from outside.
	Exposed = "Exposed"
)

// The reasons of conditions, beside those of the engine.
const (
	ReasonHostnameTaken       = "HostnameTaken"
	ReasonHostnameNotAllowed  = "HostnameNotAllowed"
	ReasonTierInvalid         = "TierInvalid"
	ReasonRollingOut          = "RollingOut"
	ReasonImagePullFailed     = "ImagePullFailed"
	ReasonCrashLoop           = "CrashLoop"
	ReasonConfigMissing       = "ConfigMissing"
	ReasonStartFailed         = "StartFailed"
	ReasonPodsRefused         = "PodsRefused"
	ReasonUnschedulable       = "Unschedulable"
	ReasonNotServing          = "NotServing"
	ReasonScaledToZero        = "ScaledToZero"
	ReasonPaused              = "DeploymentPaused"
	ReasonRolloutFailed       = "RolloutFailed"
	ReasonRolledBack          = "RolledBack"
	ReasonRevisionUnknown     = "RevisionUnknown"
	ReasonWaitingForDatabase  = "WaitingForDatabase"
	ReasonMigrating           = "Migrating"
	ReasonMigrationFailed     = "MigrationFailed"
	ReasonTooManySources      = "TooManySources"
	ReasonAutoscalerInactive  = "AutoscalerInactive"
	ReasonAutoscalerPending   = "AutoscalerPending"
	ReasonIngressClassMissing = "IngressClassMissing"
	ReasonNoAddress           = "NoAddress"
)

// Options is what the kind needs beside the cluster.
type Options struct {
	// IngressControllers select the namespaces whose pods reach the web port of every WebApp.
	IngressControllers []metav1.LabelSelector
	// MaxConcurrentReconciles is how many objects are worked on at once.
	MaxConcurrentReconciles int
	// RetryMax is the longest time between two tries after errors.
	RetryMax time.Duration
	// Clock is the time; nil is the real one.
	Clock clock.PassiveClock
}

// +kubebuilder:rbac:groups="",resources=configmaps,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=pods,verbs=create;list
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get;list;watch
// +kubebuilder:rbac:groups="",resources=serviceaccounts,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups="",resources=services,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list
// +kubebuilder:rbac:groups=autoscaling,resources=horizontalpodautoscalers,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=autoreboot.acme.com,resources=configwatchers,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=batch,resources=jobs,verbs=create;delete;get;list;watch
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingressclasses,verbs=get;list;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=ingresses,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=networking.k8s.io,resources=networkpolicies,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=policy,resources=poddisruptionbudgets,verbs=create;delete;get;list;patch;watch
// +kubebuilder:rbac:groups=tenancy.acme.com,resources=acmenamespaces,verbs=get;list;watch
// +kubebuilder:rbac:groups=tenancy.acme.com,resources=deploymenttiers,verbs=get;list;watch
// +kubebuilder:rbac:groups=workloads.apps.acme.com,resources=webapps,verbs=get;list;patch;watch
// +kubebuilder:rbac:groups=workloads.apps.acme.com,resources=webapps/finalizers,verbs=update
// +kubebuilder:rbac:groups=workloads.apps.acme.com,resources=webapps/status,verbs=patch

// owns are the types of the children.
var owns = []client.Object{
	&networkingv1.NetworkPolicy{}, &corev1.ServiceAccount{}, &corev1.ConfigMap{}, &policyv1.PodDisruptionBudget{}, &corev1.Service{},
	&autorebootv1alpha1.ConfigWatcher{}, &appsv1.Deployment{}, &autoscalingv2.HorizontalPodAutoscaler{}, &networkingv1.Ingress{},
}

// keeps are the types of the children that are history: migration.go and revision.go delete them.
var keeps = []client.Object{&batchv1.Job{}, &appsv1.ControllerRevision{}}

// Holds are all children: each is compared with what is wanted.
var Holds = func() (all []engine.Held) {
	for _, o := range slices.Concat(owns, keeps) {
		all = append(all, engine.Held{Of: o})
	}
	return all
}()

// Reads are what it reads besides.
var Reads = []client.Object{
	&corev1.Namespace{}, &networkingv1.IngressClass{}, &tenancyv1alpha1.AcmeNamespace{}, &tenancyv1alpha1.DeploymentTier{},
}

// Register adds the kind to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &v1alpha1.WebApp{}, claimIndex,
		func(o client.Object) []string { return asksOrHas(o.(*v1alpha1.WebApp)) }); err != nil {
		return fmt.Errorf("indexing WebApps by host name and path: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(context.Background(), &networkingv1.Ingress{}, claimIndex, claimsServed); err != nil {
		return fmt.Errorf("indexing Ingresses by host name and path: %w", err)
	}
	return engine.Register(mgr, &v1alpha1.WebApp{}, engine.Config[*v1alpha1.WebApp]{
		Name:   Name,
		Owns:   owns,
		Keeps:  keeps,
		Proves: proves,
		References: []engine.Reference[*v1alpha1.WebApp]{
			{To: &v1alpha1.WebApp{}, Keys: claimKeys, Changed: claimsChanged, As: func(o client.Object) []client.ObjectKey {
				return keysOf(asksOrHas(o.(*v1alpha1.WebApp)))
			}},
			{To: &networkingv1.Ingress{}, Keys: claimKeys, Changed: servedChanged, As: func(o client.Object) []client.ObjectKey {
				return keysOf(claimsServed(o))
			}},
			{To: &networkingv1.IngressClass{}, Keys: classKeys},
			{To: &corev1.Secret{}, Keys: databaseKeys},
			{To: &tenancyv1alpha1.DeploymentTier{}, Keys: tierKeys},
			{To: &tenancyv1alpha1.AcmeNamespace{}, Keys: placeKeys, Changed: placeChanged, As: func(o client.Object) []client.ObjectKey {
				return []client.ObjectKey{{Name: o.(*tenancyv1alpha1.AcmeNamespace).Spec.NamespaceName}}
			}},
		},
		MaxConcurrentReconciles: o.MaxConcurrentReconciles,
		RetryMax:                o.RetryMax,
		Clock:                   o.Clock,
	}, kind{o, newPromises()})
}

// proves tells a child from a copy of it by its name.
func proves(app *v1alpha1.WebApp, child client.Object) bool {
	switch name := child.GetName(); child.(type) {
	case *batchv1.Job:
		return names.IsDigested(name, app.Name, migrationSuffix)
	case *corev1.ConfigMap:
		return names.IsDigested(name, app.Name, configSuffix)
	case *appsv1.ControllerRevision:
		return names.IsDigested(name, app.Name, revisionSuffix)
	case *networkingv1.NetworkPolicy:
		return name == policyName(app)
	case *autorebootv1alpha1.ConfigWatcher:
		return name == watcherName(app)
	default:
		return name == nameOf(app)
	}
}

func claimKeys(a *v1alpha1.WebApp) []client.ObjectKey { return keysOf(claimsOf(a)) }

func keysOf(claims []string) (keys []client.ObjectKey) {
	for _, claim := range claims {
		keys = append(keys, client.ObjectKey{Name: claim})
	}
	return keys
}

func placeKeys(a *v1alpha1.WebApp) []client.ObjectKey { return []client.ObjectKey{{Name: a.Namespace}} }

func classKeys(a *v1alpha1.WebApp) []client.ObjectKey {
	if a.Spec.Ingress == nil || a.Spec.Ingress.ClassName == nil {
		return nil
	}
	return []client.ObjectKey{{Name: *a.Spec.Ingress.ClassName}}
}

// tierKeys are all tiers: which one counts is up to the namespace.
func tierKeys(*v1alpha1.WebApp) (keys []client.ObjectKey) {
	for _, tier := range []common.TierName{common.TierDev, common.TierStg, common.TierProd} {
		keys = append(keys, client.ObjectKey{Name: string(tier)})
	}
	return keys
}

type kind struct {
	Options
	promises *promises
}

// Steps is the whole life of a WebApp.
func (k kind) Steps(s engine.Scope[*v1alpha1.WebApp]) []engine.Step {
	r := &run{Scope: s, kind: k}
	return []engine.Step{
		{Condition: Admitted, Run: r.admit},
		{Condition: Composed, Run: r.compose},
		{Condition: DatabaseReady, Run: r.checkDatabase},
		{Condition: Migrated, Run: r.migrate},
		{Condition: Deployed, Run: r.checkPods},
		{Condition: UpToDate, Run: r.checkWatcher},
		{Condition: Autoscaled, Run: r.checkAutoscaler},
		{Condition: Exposed, Run: r.checkIngress},
	}
}

// run is one run of one object.
type run struct {
	engine.Scope[*v1alpha1.WebApp]
	kind

	// granted are the claims that the object may have.
	granted []string
	// lost is why the object may not have its external name.
	lost       refusal
	migrations migrations
	// records are the ControllerRevisions of the object.
	records []*appsv1.ControllerRevision
	// course is the revision that the pods are to be made from, and target the object with its content.
	course course
	target *v1alpha1.WebApp
	// hold: no pod of it may start yet.
	hold bool
	// in is what the children follow from.
	in input
	// missing is the number of a revision that is to be rolled back to and that there is not; else 0.
	missing int64
	lacks   lack // of the connection to the database
	seen    observation
}

func (r *run) key() client.ObjectKey {
	return client.ObjectKey{Namespace: r.Obj.Namespace, Name: nameOf(r.Obj)}
}

// read reads the whole of an object; false when there is none.
func read[O client.Object](ctx context.Context, r *run, key client.ObjectKey, o O) (O, bool, error) {
	err := r.Client.Get(ctx, key, o)
	if err == nil {
		o, err = engine.Whole(ctx, r.Live, o)
	}
	switch {
	case apierrors.IsNotFound(err):
		return o, false, nil
	case err != nil:
		return o, false, fmt.Errorf("reading %T %s: %w", o, key.Name, err)
	}
	return o, true, nil
}

// own reads a child; false when there is none, or one that belongs to somebody else.
func own[O client.Object](ctx context.Context, r *run, key client.ObjectKey, o O) (O, bool, error) {
	o, exists, err := read(ctx, r, key, o)
	return o, exists && r.Owned(o), err
}

// look reads what the children follow from beside the spec.
func (r *run) look(ctx context.Context) (in input, err error) {
	if r.migrations, err = r.findMigrations(ctx); err != nil {
		return in, err
	}
	deployment, err := r.findDeployment(ctx)
	if err != nil {
		return in, err
	}
	if err := r.steer(ctx, deployment); err != nil {
		return in, err
	}
	in = r.in
	in.configNames = map[*v1alpha1.WebApp]string{}
	for _, a := range in.versions() {
		in.configNames[a] = configName(a)
	}
	in.controllers, in.deployment, in.unpublished = r.IngressControllers, deployment, r.lost.reason != ""
	service, exists, err := own(ctx, r, r.key(), &corev1.Service{})
	if err != nil {
		return in, err
	}
	in.clash = exists && in.clashes(service)
	in.former, err = r.findFormerFiles(ctx, in)
	return in, err
}

// findDeployment reads the Deployment, and what of it is the operator's.
func (r *run) findDeployment(ctx context.Context) (*held, error) {
	live, exists, err := own(ctx, r, r.key(), &appsv1.Deployment{})
	if err != nil || !exists {
		return nil, err
	}
	ours, err := appsv1ac.ExtractDeployment(live, names.FieldManager(Name))
	if err != nil {
		return nil, fmt.Errorf("reading what of the Deployment is the operator's: %w", err)
	}
	return &held{ours: ours, live: live}, nil
}

// findFormerFiles reads the ConfigMaps of the pods that serve, and of those that the Deployment starts until it is changed, where
// they are not wanted anyway.
func (r *run) findFormerFiles(ctx context.Context, in input) (all []*corev1.ConfigMap, err error) {
	wanted := []string{r.Obj.Status.ConfigMap}
	if in.deployment != nil {
		wanted = append(wanted, filesOf(in.deployment.live))
	}
	slices.Sort(wanted)
	for _, name := range slices.Compact(wanted) {
		if name == "" || slices.ContainsFunc(in.versions(), func(a *v1alpha1.WebApp) bool { return name == in.configName(a) }) {
			continue
		}
		files, exists, err := own(ctx, r, client.ObjectKey{Namespace: r.Obj.Namespace, Name: name}, &corev1.ConfigMap{})
		if err != nil {
			return nil, err
		}
		if exists && files.DeletionTimestamp.IsZero() {
			all = append(all, files)
		}
	}
	return all, nil
}

// compose makes the children.
func (r *run) compose(ctx context.Context) (engine.Outcome, error) {
	in, err := r.look(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	out, err := r.Compose(func() ([]engine.Child, error) { return in.recorded(desired(in)) })(ctx)
	if err == nil {
		err = r.release(ctx)
	}
	if err != nil || !out.GoesOn() {
		return out, err
	}
	if in.deployment != nil || !in.keep {
		r.Obj.Status.Created = true
	}
	if out, err = r.observe(ctx, in.former, out); err != nil {
		return out, err
	}
	if r.missing != 0 {
		return engine.Block(ReasonRevisionUnknown, unknown(r.Obj, r.missing, r.hasRecord)), nil
	}
	return out, r.forget(ctx)
}
