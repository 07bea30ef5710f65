// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"os"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	coordinationv1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	schedulingv1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/acmenamespace"
	"github.com/acme/platform-operator/internal/controller/configwatcher"
	"github.com/acme/platform-operator/internal/controller/crontab"
	"github.com/acme/platform-operator/internal/controller/database"
	"github.com/acme/platform-operator/internal/controller/leaderelection"
	"github.com/acme/platform-operator/internal/controller/rebootpolicy"
	"github.com/acme/platform-operator/internal/controller/schedulerprofile"
	"github.com/acme/platform-operator/internal/controller/webapp"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/scheduling"
	acmenamespacewebhook "github.com/acme/platform-operator/internal/webhook/acmenamespace"
	crontabwebhook "github.com/acme/platform-operator/internal/webhook/crontab"
	schedulerprofilewebhook "github.com/acme/platform-operator/internal/webhook/schedulerprofile"
)

// Kind is one row of the table of kinds.
type Kind struct {
	// Object is an empty object of the kind.
	Object engine.Object
	// Conditions are the conditions of its steps, in their order.
	Conditions []string
	// Holds are the types of its children and what it compares of them; the caches must hold that whole.
	Holds []engine.Held
	// Reads are the other types that it reads; without them in the caches the operator is not ready.
	Reads []client.Object
	// Register adds its controller to the manager.
	Register func(ctrl.Manager, Deps) error
	// Webhook adds its webhooks to the manager; nil when the schema checks everything.
	Webhook func(ctrl.Manager, Deps) error
	// Critical returns why, and since when, the operator should not be replaced because of an object; an empty
	// reason when it may be. Nil if no object of the kind is ever critical. It is reported to OLM, and delays
	// an upgrade by some minutes at most.
	Critical func(engine.Object) (since time.Time, why string)
}

// Kinds is THE table of kinds: the manager, the metrics, the demo, the test harness and the
// completeness test all walk it.
var Kinds = []Kind{
	{
		Object:     &tenancyv1alpha1.AcmeNamespace{},
		Conditions: []string{acmenamespace.Admitted, acmenamespace.AdminVerified, acmenamespace.Composed, acmenamespace.Protected},
		Holds:      acmenamespace.Holds,
		Reads:      []client.Object{&corev1.Namespace{}, &tenancyv1alpha1.DeploymentTier{}},
		Register: func(mgr ctrl.Manager, d Deps) error {
			return acmenamespace.Register(mgr, acmenamespace.Options{
				ProtectedNames:          d.protectedNames(),
				ReservedLabels:          d.Config.AcmeNamespace.ReservedLabels,
				DNS:                     d.Config.AcmeNamespace.DNS,
				Version:                 d.Version,
				PolicyInterval:          d.Config.AcmeNamespace.PolicyInterval.Duration,
				Directory:               d.Directory,
				Ledger:                  d.Ledger,
				MaxConcurrentReconciles: int(*d.Config.AcmeNamespace.MaxConcurrentReconciles),
				RetryMax:                d.Config.AcmeNamespace.Billing.RetryMax.Duration,
				Clock:                   d.Clock,
			})
		},
		Webhook: func(mgr ctrl.Manager, d Deps) error {
			return acmenamespacewebhook.Register(mgr, acmenamespacewebhook.Options{
				ProtectedNames: d.protectedNames(), ReservedLabels: d.Config.AcmeNamespace.ReservedLabels, Directory: d.Directory,
			})
		},
		Critical: func(o engine.Object) (time.Time, string) {
			return acmenamespace.Critical(o.(*tenancyv1alpha1.AcmeNamespace))
		},
	},
	{
		Object:     &autorebootv1alpha1.ConfigWatcher{},
		Conditions: []string{configwatcher.Admitted, configwatcher.UpToDate, configwatcher.SourcesFound},
		Register: func(mgr ctrl.Manager, d Deps) error {
			return configwatcher.Register(mgr, configwatcher.Options{
				Namespace:               d.Namespace,
				Peers:                   d.Restarts,
				MaxConcurrentReconciles: int(*d.Config.ConfigWatcher.MaxConcurrentReconciles),
				RetryMax:                d.Config.ConfigWatcher.RetryMax.Duration,
				Annotations:             d.Config.ConfigWatcher.Annotations == configv1alpha1.Enabled,
				Clock:                   d.Clock,
			})
		},
	},
	{
		Object:     &autorebootv1alpha1.RebootPolicy{},
		Conditions: []string{rebootpolicy.Admitted, rebootpolicy.UpToDate, rebootpolicy.ValueRead},
		Register: func(mgr ctrl.Manager, d Deps) error {
			return rebootpolicy.Register(mgr, rebootpolicy.Options{
				Namespace:               d.Namespace,
				Peers:                   d.Restarts,
				Reader:                  d.Values,
				MaxConcurrentReconciles: int(*d.Config.RebootPolicy.MaxConcurrentReconciles),
				RetryMax:                d.Config.RebootPolicy.RetryMax.Duration,
				Clock:                   d.Clock,
			})
		},
	},
	{
		Object:     &batchv1alpha1.CronTab{},
		Conditions: []string{crontab.Scheduled, crontab.Started, crontab.HistoryKept, crontab.PodsStarted, crontab.LastRunSucceeded},
		Holds:      crontab.Holds,
		Register: func(mgr ctrl.Manager, d Deps) error {
			return crontab.Register(mgr, crontab.Options{
				MaxConcurrentReconciles: int(*d.Config.CronTab.MaxConcurrentReconciles),
				RetryMax:                d.Config.CronTab.RetryMax.Duration,
				Clock:                   d.Clock,
			})
		},
		Webhook: func(mgr ctrl.Manager, _ Deps) error { return crontabwebhook.Register(mgr) },
	},
	{
		Object: &workloadsv1alpha1.WebApp{},
		Conditions: []string{
			webapp.Admitted, webapp.Composed, webapp.DatabaseReady, webapp.Migrated, webapp.Deployed, webapp.UpToDate, webapp.Autoscaled, webapp.Exposed,
		},
		Holds: webapp.Holds,
		Reads: webapp.Reads,
		Register: func(mgr ctrl.Manager, d Deps) error {
			return webapp.Register(mgr, webapp.Options{
				IngressControllers:      d.Config.WebApp.Controllers(),
				MaxConcurrentReconciles: int(*d.Config.WebApp.MaxConcurrentReconciles),
				RetryMax:                d.Config.WebApp.RetryMax.Duration,
				Clock:                   d.Clock,
			})
		},
	},
	{
		Object:     &coordinationv1alpha1.LeaderElection{},
		Conditions: []string{leaderelection.Accepted, leaderelection.Published, leaderelection.Elected, leaderelection.Told},
		Holds:      leaderelection.Holds,
		Reads:      leaderelection.Reads,
		Register: func(mgr ctrl.Manager, d Deps) error {
			return leaderelection.Register(mgr, leaderelection.Options{
				MaxConcurrentReconciles: int(*d.Config.LeaderElection.MaxConcurrentReconciles),
				RetryMax:                d.Config.LeaderElection.RetryMax.Duration,
				Clock:                   d.Clock,
			})
		},
	},
	{
		Object: &schedulingv1alpha1.SchedulerProfile{},
		Conditions: []string{
			schedulerprofile.Accepted, schedulerprofile.Granted, schedulerprofile.Supported, schedulerprofile.Composed, schedulerprofile.Serving,
			schedulerprofile.Routed,
		},
		Holds: schedulerprofile.Holds,
		Register: func(mgr ctrl.Manager, d Deps) error {
			return schedulerprofile.Register(mgr, schedulerprofile.Options{
				Namespace:               d.Namespace,
				Images:                  scheduling.ImagesOf(os.Environ()),
				MaxConcurrentReconciles: int(*d.Config.SchedulerProfile.MaxConcurrentReconciles),
				RetryMax:                d.Config.SchedulerProfile.RetryMax.Duration,
				Clock:                   d.Clock,
			})
		},
		Webhook: func(mgr ctrl.Manager, _ Deps) error { return schedulerprofilewebhook.Register(mgr) },
	},
	{
		Object: &databasesv1alpha1.Database{},
		Conditions: []string{
			database.Bounded, database.Accepted, database.Stored, database.Composed, database.Running, database.CredentialsInSync,
		},
		Holds: database.Holds,
		Register: func(mgr ctrl.Manager, d Deps) error {
			return database.Register(mgr, database.Options{
				Namespace:  d.Namespace,
				Agents:     d.Agents,
				AgentImage: ownImage(d.Config.Database.AgentImage, d.Namespace, mgr.GetAPIReader()),
				Images: map[databasesv1alpha1.Type]string{
					databasesv1alpha1.Postgres: d.Config.Database.Images.Postgres, databasesv1alpha1.MySQL: d.Config.Database.Images.MySQL,
				},
				PullSecrets:             d.Config.Database.ImagePullSecrets,
				RunAsUser:               *d.Config.Database.RunAsUser,
				Version:                 d.Version,
				PolicyInterval:          d.Config.Database.PolicyInterval.Duration,
				MaxConcurrentReconciles: int(*d.Config.Database.MaxConcurrentReconciles),
				RetryMax:                d.Config.Database.RetryMax.Duration,
				Clock:                   d.Clock,
			})
		},
	},
}

// schemes register the types of every API group.
var schemes = []func(*runtime.Scheme) error{
	autorebootv1alpha1.AddToScheme, batchv1alpha1.AddToScheme, coordinationv1alpha1.AddToScheme, databasesv1alpha1.AddToScheme,
	schedulingv1alpha1.AddToScheme, tenancyv1alpha1.AddToScheme, workloadsv1alpha1.AddToScheme,
}

// protectedNames returns the patterns of the configuration, and the operator's own namespace.
func (d Deps) protectedNames() []string {
	return append([]string{d.Namespace}, d.Config.AcmeNamespace.ProtectedNames...)
}
