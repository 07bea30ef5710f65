// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/jsonmergepatch"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/doctor"
	"github.com/acme/platform-operator/internal/plugin/planning"
)

// Planning reads what plans need.
type Planning struct {
	*Cluster
	// ServerSide is whether objects are applied as by kubectl apply --server-side, else as by kubectl apply.
	ServerSide bool
	// Notes are what the user should know about all plans.
	Notes []string

	operator planning.Operator
}

// Planning reads what is to be known of the operator. What the user may not read has its default, which is noted.
func (c *Cluster) Planning(ctx context.Context, pluginVersion string, now time.Time) (*Planning, error) {
	p := &Planning{Cluster: c, operator: planning.Operator{Namespace: c.OperatorNamespace, Now: now}}
	found := c.list(ctx, deployments, c.OperatorNamespace, doctor.Selector, nil)
	switch {
	case apierrors.IsForbidden(found.Err):
		p.note("you may not read the operator's Deployment, so that its version is not known: this is what the version %s does", pluginVersion)
	case found.Err != nil:
		return nil, found.Err
	}
	for _, d := range found.Value {
		p.operator.Environment = environment(d)
		if v := doctor.VersionOf(d); v != "" && v != pluginVersion {
			p.note("the operator has the version %s, this plugin %s: this is what the version %[2]s does", v, pluginVersion)
		}
	}
	if err := p.configure(ctx); err != nil {
		return nil, err
	}
	if v, err := version.ParseGeneric(c.server().Value); err == nil {
		p.operator.Minor = int(v.Minor())
	}
	return p, nil
}

// note notes something once.
func (p *Planning) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(p.Notes, text) {
		p.Notes = append(p.Notes, text)
	}
}

// configure reads the operator's configuration.
func (p *Planning) configure(ctx context.Context) (err error) {
	text := ""
	o, err := p.get(ctx, kindOf("", "configmaps", "ConfigMap", true), p.OperatorNamespace, planning.ConfigMapName)
	switch {
	case err == nil:
		text, _, _ = unstructured.NestedString(o.Object, "data", planning.ConfigMapKey)
	case apierrors.IsForbidden(err):
		p.note("you may not read the operator's configuration: its defaults are assumed")
	case !apierrors.IsNotFound(err):
		return err
	}
	if p.operator.Config, err = planning.Configuration(text); err != nil {
		p.note("the operator's configuration: %v", err)
	}
	return nil
}

// environment are the environment variables of the operator.
func environment(deployment *unstructured.Unstructured) (all []string) {
	containers, _, _ := unstructured.NestedSlice(deployment.Object, "spec", "template", "spec", "containers")
	for _, item := range containers {
		c, _ := item.(map[string]any)
		list, _, _ := unstructured.NestedSlice(c, "env")
		for _, item := range list {
			if v, isMap := item.(map[string]any); isMap {
				name, _ := v["name"].(string)
				value, _ := v["value"].(string)
				all = append(all, name+"="+value)
			}
		}
	}
	return all
}

// Plan says what applying an object does.
func (p *Planning) Plan(ctx context.Context, o *unstructured.Unstructured) (plan planning.ObjectPlan, err error) {
	k, err := p.Resource(o)
	if err != nil {
		return plan, fmt.Errorf("%w; check apiVersion and kind of %q", err, o.GetName())
	}
	live, err := p.live(ctx, k, o)
	if err != nil {
		return plan, err
	}
	becomes, err := p.apply(ctx, k, live, o)
	if err != nil {
		return plan, fmt.Errorf("%s %s would be rejected: %w", k.Word(), o.GetName(), err)
	}
	plan.Change = planning.OfObject(live, becomes)
	if why := planning.Stopped(k, becomes); why != "" {
		plan.Notes = append(plan.Notes, why)
		return plan, nil
	}
	planner, err := planning.For(becomes, p.operator)
	switch {
	case err != nil:
		return plan, err
	case planner == nil:
		plan.Notes = append(plan.Notes, planning.Unplanned(k.Kind))
		return plan, nil
	}
	plan.Children, err = p.changes(ctx, k, becomes, planner)
	plan.Notes = append(plan.Notes, planner.Notes()...)
	return plan, err
}

// live is an object as it is, in the namespace in which it would be applied; nil if there is none.
func (p *Planning) live(ctx context.Context, k plugin.Kind, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	switch {
	case !k.Namespaced:
		o.SetNamespace("")
	case o.GetNamespace() == "":
		o.SetNamespace(p.Namespace)
	}
	live, err := p.get(ctx, k, o.GetNamespace(), o.GetName())
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return live, err
}

// apply applies an object without effect, as kubectl does, and returns what it becomes.
func (p *Planning) apply(ctx context.Context, k plugin.Kind, live, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	const manager = "kubectl"
	resource, dryRun := p.resource(k, o.GetNamespace()), []string{metav1.DryRunAll}
	switch {
	case p.ServerSide:
		return resource.Apply(ctx, o.GetName(), o, metav1.ApplyOptions{DryRun: dryRun, FieldManager: manager})
	case live == nil:
		return resource.Create(ctx, o, metav1.CreateOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict})
	}
	modified, err := json.Marshal(o.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", o.GetName(), err)
	}
	current, err := json.Marshal(live.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", o.GetName(), err)
	}
	original := []byte(live.GetAnnotations()["kubectl.kubernetes.io/last-applied-configuration"])
	patch, err := jsonmergepatch.CreateThreeWayJSONMergePatch(original, modified, current)
	if err != nil {
		return nil, fmt.Errorf("comparing %s with what was applied before: %w", o.GetName(), err)
	}
	return resource.Patch(ctx, o.GetName(), types.MergePatchType, patch,
		metav1.PatchOptions{DryRun: dryRun, FieldManager: manager, FieldValidation: metav1.FieldValidationStrict})
}

// changes reads what the children depend on, and those that exist, and compares.
func (p *Planning) changes(
	ctx context.Context, k plugin.Kind, owner *unstructured.Unstructured, planner *planning.Planner,
) ([]planning.Change, error) {
	reads, err := planner.Reads()
	if err != nil {
		return nil, err
	}
	known, err := p.read(ctx, reads)
	if err != nil {
		return nil, err
	}
	var found []*unstructured.Unstructured
	for _, key := range reads {
		switch live := known[key]; {
		case live.Hidden:
			p.note("you may not read the %s %s: it is assumed that there is none", key.Kind, key.Name)
		case live.Object != nil:
			found = append(found, live.Object)
		}
	}
	wanted, err := planner.Want(found)
	if err != nil {
		return nil, err
	}
	live, err := p.read(ctx, wanted)
	if err != nil {
		return nil, err
	}
	former, err := p.former(ctx, k, owner, planner.Owns())
	if err != nil {
		return nil, err
	}
	return planner.Changes(live, former)
}

// read reads objects. Those of types that are not served do not exist.
func (p *Planning) read(ctx context.Context, keys []planning.Key) (map[planning.Key]planning.Live, error) {
	all := map[planning.Key]planning.Live{}
	for _, key := range keys {
		k, served := p.kind(key.GroupVersionKind)
		if !served {
			continue
		}
		o, err := p.get(ctx, k, key.Namespace, key.Name)
		switch {
		case err == nil:
			all[key] = planning.Live{Object: o}
		case apierrors.IsForbidden(err):
			all[key] = planning.Live{Hidden: true}
		case !apierrors.IsNotFound(err):
			return nil, fmt.Errorf("reading %s %s: %w", key.Kind, key.Name, err)
		}
	}
	return all, nil
}

// kind is the type of a kind, in its version.
func (c *Cluster) kind(gvk schema.GroupVersionKind) (plugin.Kind, bool) {
	for _, k := range c.Resources {
		if k.Group == gvk.Group && k.Kind == gvk.Kind {
			k.Version = gvk.Version
			return k, true
		}
	}
	return plugin.Kind{}, false
}

// former are the children that exist of some types, as far as the user may list them.
func (p *Planning) former(
	ctx context.Context, owner plugin.Kind, o *unstructured.Unstructured, kinds []schema.GroupVersionKind,
) (all []*unstructured.Unstructured, err error) {
	if len(kinds) == 0 || o.GetResourceVersion() == "" {
		return nil, nil
	}
	types := []plugin.Kind{}
	for _, gvk := range append(kinds, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}) {
		if k, served := p.kind(gvk); served && (k.Namespaced || !owner.Namespaced) {
			types = append(types, k)
		}
	}
	var lock sync.Mutex
	hidden, err := together(types, func(k plugin.Kind) error {
		return p.eachMetadata(ctx, k, o.GetNamespace(), plugin.OwnedBy(o), func(child *unstructured.Unstructured) {
			lock.Lock()
			defer lock.Unlock()
			all = append(all, child)
		})
	})
	if err != nil && !apierrors.IsForbidden(err) {
		return nil, err
	}
	for _, text := range hidden.Sentences() {
		p.note("what would be deleted may be more than is shown: %s", text)
	}
	all = plugin.Belong(o, all, p.OperatorNamespace)
	return withoutNamespaces(all), nil
}

// withoutNamespaces leaves out Namespaces, which are read to know places, and never deleted with what is not wanted.
func withoutNamespaces(all []*unstructured.Unstructured) (rest []*unstructured.Unstructured) {
	for _, o := range all {
		if o.GetKind() != "Namespace" {
			rest = append(rest, o)
		}
	}
	return rest
}

// CheckNamespace rejects an object of another namespace than the one that the user asks for.
func CheckNamespace(o *unstructured.Unstructured, asked string) error {
	if asked != "" && o.GetNamespace() != "" && o.GetNamespace() != asked {
		return fmt.Errorf("%s %s is of the namespace %s, and --namespace says %s; leave it out, or choose one of them",
			strings.ToLower(o.GetKind()), o.GetName(), o.GetNamespace(), asked)
	}
	return nil
}

// ErrNoName is the error for an object without a name, which cannot be applied.
var ErrNoName = errors.New("an object in the file has no metadata.name; give it one: what has a generated name cannot be applied")
