/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"context"
	"fmt"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	batchv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
)

// view is what the report has to say about a kind. All functions may be nil.
type view struct {
	// stage makes what the object is about, before it is applied.
	stage func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error
	// act shows, once everything is ready, what the object is for.
	act func(ctx context.Context, c client.Client, o *unstructured.Unstructured) error
	// needs is what the object needs and the demo does not have: it is not waited for.
	needs string
	// facts are what exists in the cluster because of the object.
	facts func(ctx context.Context, c client.Reader, o *unstructured.Unstructured) ([]fact, error)
	// tour is what can be tried with it.
	tour func(s *sample, t tools) (*tour, error)
}

// views has a row for each kind that has more to show than its conditions.
var views = map[schema.GroupKind]view{
	{Group: autorebootv1alpha1.GroupVersion.Group, Kind: "ConfigWatcher"}: {
		stage: configWatcherStage, act: configWatcherAct, facts: configWatcherFacts,
	},
	{Group: autorebootv1alpha1.GroupVersion.Group, Kind: "RebootPolicy"}: {needs: "a database server"},
	{Group: batchv1alpha1.GroupVersion.Group, Kind: "CronTab"}:           {act: runCronTab, facts: cronTabFacts},
	{Group: tenancyv1alpha1.GroupVersion.Group, Kind: "AcmeNamespace"}:   {facts: acmeNamespaceFacts, tour: acmeNamespaceTour},
	{Group: tenancyv1alpha1.GroupVersion.Group, Kind: "DeploymentTier"}:  {facts: deploymentTierFacts},
}

// viewOf is the view of an object's kind.
func viewOf(o *unstructured.Unstructured) view { return views[o.GroupVersionKind().GroupKind()] }

// fact is a line of the report: what, and what is to be said about it.
type fact struct{ what, text string }

// tour is as whom and what to try.
type tour struct {
	user, namespace string                               // a person, and the namespace to begin in
	questions       []authorizationv1.ResourceAttributes // what the person might want to do
	commands        []command
}

// command is something to type.
type command struct {
	why     string
	parts   []string      // what may stand on a line of its own
	refused client.Object // what the command creates, when a webhook refuses it
	answer  string        // what the webhook said when that was tried
}

// tools are the beginnings of commands.
type tools struct {
	kubectl string                       // path of the program
	admin   string                       // path of the administrator's kubeconfig
	person  func(user string) string     // path of a person's kubeconfig
	sample  func(relative string) string // path of a sample's file
}

// as is kubectl with a kubeconfig, then more.
func (t tools) as(kubeconfig string, more ...string) []string {
	return append([]string{t.kubectl, "--kubeconfig " + kubeconfig}, more...)
}

// conditionFacts are the facts about an object of which nothing else is known.
func conditionFacts(_ context.Context, _ client.Reader, o *unstructured.Unstructured) ([]fact, error) {
	list, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return nil, err
	}
	var facts []fact
	for _, each := range list {
		if c, ok := each.(map[string]any); ok {
			facts = append(facts, fact{fmt.Sprint(c["type"]), fmt.Sprintf("%v (%v): %v", c["status"], c["reason"], c["message"])})
		}
	}
	return facts, nil
}
