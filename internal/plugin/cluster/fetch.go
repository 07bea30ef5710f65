// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/planning"
)

// asTable asks the API server for an object as kubectl prints it.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// Fetch reads an object and everything about it.
func (c *Cluster) Fetch(ctx context.Context, kind, name string) (plugin.Fetched, error) {
	f := plugin.Fetched{Pods: map[string][]*unstructured.Unstructured{}}
	var err error
	if f.Kind, f.Object, err = c.Get(ctx, kind, name); err != nil {
		return f, err
	}
	if f.Table, err = c.table(ctx, f.Kind, f.Object); err != nil {
		return f, err
	}
	if err := c.children(ctx, &f); err != nil {
		return f, err
	}
	if err := c.pods(ctx, &f); err != nil {
		return f, err
	}
	return f, c.events(ctx, &f)
}

// table is the object as the API server prints it.
func (c *Cluster) table(ctx context.Context, k plugin.Kind, o *unstructured.Unstructured) (*metav1.Table, error) {
	request := c.discovery.RESTClient().Get().AbsPath("/apis", k.Group, k.Version).
		NamespaceIfScoped(o.GetNamespace(), k.Namespaced).Resource(k.Resource).Name(o.GetName()).SetHeader("Accept", asTable)
	data, err := request.DoRaw(ctx)
	if err != nil {
		return nil, err
	}
	table := &metav1.Table{}
	if err := json.Unmarshal(data, table); err != nil {
		return nil, fmt.Errorf("reading the table of %s: %w", o.GetName(), err)
	}
	return table, nil
}

// children reads what bears the marks of the object.
func (c *Cluster) children(ctx context.Context, f *plugin.Fetched) error {
	types, withStatus := plugin.Made(c.Resources, f.Kind)
	var lock sync.Mutex
	hidden, err := together(types, func(k plugin.Kind) error {
		list := c.eachMetadata
		if withStatus[k.Kind] {
			list = c.each
		}
		return list(ctx, k, f.Object.GetNamespace(), plugin.OwnedBy(f.Object), func(o *unstructured.Unstructured) {
			lock.Lock()
			defer lock.Unlock()
			f.Children = append(f.Children, o)
		})
	})
	f.Hidden.Add(hidden)
	if err != nil && !apierrors.IsForbidden(err) { // what may not be listed is noted
		return err
	}
	f.Children, err = proved(f.Object, f.Children)
	return err
}

// proved are those of the found objects that may be children by their names: users who may write in a namespace may write marks and owner
// references there.
func proved(owner *unstructured.Unstructured, found []*unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	proves, err := planning.Proof(owner)
	if err != nil || proves == nil {
		return found, err
	}
	return slices.DeleteFunc(found, func(o *unstructured.Unstructured) bool { return !proves(o) }), nil
}

// withPods are the kinds of children whose pods are looked at.
var withPods = []string{"Deployment", "StatefulSet", "DaemonSet", "Job"}

// pods reads the pods of children that are not well.
func (c *Cluster) pods(ctx context.Context, f *plugin.Fetched) error {
	k := plugin.Kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Kind: "Pod", Namespaced: true}
	for _, child := range f.Children {
		is, wrong := plugin.Readiness(child)
		if !slices.Contains(withPods, child.GetKind()) || (!wrong && is != "running") {
			continue
		}
		selector := &metav1.LabelSelector{}
		fields, _, _ := unstructured.NestedMap(child.Object, "spec", "selector")
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, selector); err != nil {
			continue // of a newer API, which a selector is not read from
		}
		labels, err := metav1.LabelSelectorAsSelector(selector)
		if err != nil || labels.Empty() {
			continue
		}
		uid := string(child.GetUID())
		err = c.each(ctx, k, child.GetNamespace(), labels.String(), func(o *unstructured.Unstructured) { f.Pods[uid] = append(f.Pods[uid], o) })
		if apierrors.IsForbidden(err) {
			f.Hidden.Forbidden = append(f.Hidden.Forbidden, k.Resource)
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing the pods of %s: %w", child.GetName(), err)
		}
	}
	return nil
}

// events reads the events of the object. Those of cluster-scoped objects are in the namespace default.
func (c *Cluster) events(ctx context.Context, f *plugin.Fetched) error {
	namespace := f.Object.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	events := c.dynamic.Resource(schema.GroupVersionResource{Version: "v1", Resource: "events"}).Namespace(namespace)
	options := metav1.ListOptions{
		Limit: pageSize, FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", string(f.Object.GetUID())).String(),
	}
	for {
		list, err := events.List(ctx, options)
		if apierrors.IsForbidden(err) {
			f.Hidden.Forbidden = append(f.Hidden.Forbidden, "events")
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing events: %w", err)
		}
		for i := range list.Items {
			f.Events = append(f.Events, &list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}
