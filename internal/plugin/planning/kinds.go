// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package planning says what the operator would do about an object: which children it would make, change and delete. The children
// follow from the same functions as in the operator, so that this package, alone in the plugin, knows the kinds. It reads nothing.
package planning

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/controller/acmenamespace"
	"github.com/acme/platform-operator/internal/controller/crontab"
	"github.com/acme/platform-operator/internal/controller/leaderelection"
	"github.com/acme/platform-operator/internal/controller/schedulerprofile"
	"github.com/acme/platform-operator/internal/controller/webapp"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/scheduling"
)

// Operator is what is known of the operator of a cluster, and of the cluster.
type Operator struct {
	// Namespace is where it runs.
	Namespace string
	// Config is its configuration.
	Config *configv1alpha1.PlatformOperatorConfig
	// Environment are its environment variables, as NAME=VALUE.
	Environment []string
	// Minor is the minor version of the API server.
	Minor int
	// Now is the time.
	Now time.Time
}

// plans has a line for each kind.
func plans(o Operator) []engine.Plan {
	return []engine.Plan{
		acmenamespace.Plan(acmenamespace.Options{DNS: o.Config.AcmeNamespace.DNS}),
		engine.PlanNothing[*autorebootv1alpha1.ConfigWatcher](autorebootv1alpha1.GroupVersion.WithKind("ConfigWatcher"), restarts),
		engine.PlanNothing[*autorebootv1alpha1.RebootPolicy](autorebootv1alpha1.GroupVersion.WithKind("RebootPolicy"), restarts),
		crontab.Plan(o.Now),
		engine.PlanNothing[*databasesv1alpha1.Database](databasesv1alpha1.GroupVersion.WithKind("Database"), databases),
		webapp.Plan(webapp.Options{IngressControllers: o.Config.WebApp.Controllers()}),
		leaderelection.Plan(),
		schedulerprofile.Plan(schedulerprofile.Options{Namespace: o.Namespace, Images: scheduling.ImagesOf(o.Environment)}, o.Minor),
	}
}

const restarts = "it makes no objects; it restarts the workloads that it selects when what it watches changes"

// unplanned are the kinds that change what is made for others.
var unplanned = map[string]string{
	"DeploymentTier": "it changes the guardrails of every AcmeNamespace of this tier: plan these once it is applied",
}

// Unplanned says why there is no plan for a kind.
func Unplanned(kind string) string {
	return cmp.Or(unplanned[kind], "this plugin knows of nothing that the operator makes for a "+kind)
}

const databases = "its server, Services, Secrets and claim are not shown: they follow from data and passwords that only the operator reads"

// Kinds are the kinds that can be planned.
func Kinds() (all []schema.GroupVersionKind) {
	config := &configv1alpha1.PlatformOperatorConfig{}
	for _, p := range plans(Operator{Config: config}) {
		all = append(all, p.Of)
	}
	return all
}

// scheme has the types of children, and of what they depend on.
var scheme = func() *runtime.Scheme {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, autorebootv1alpha1.AddToScheme, tenancyv1alpha1.AddToScheme,
	} {
		utilruntime.Must(add(s))
	}
	return s
}()
