// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cluster reads what the kubectl plugin shows, and does what its user asks for, with the user's own rights. What
// the user may not read is left out and named.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/acme/platform-operator/internal/plugin"
)

const (
	// pageSize is how many objects one request reads.
	pageSize = 500
	// parallel is how many requests run at once.
	parallel = 8
)

// Cluster is a cluster as one user sees it.
type Cluster struct {
	// Namespace is the one that the user works in; empty for all.
	Namespace string
	// OperatorNamespace is the one that the operator is installed in.
	OperatorNamespace string
	// Kinds are the operator's, Resources all types that can be listed.
	Kinds, Resources []plugin.Kind

	discovery *discovery.DiscoveryClient
	dynamic   dynamic.Interface
	metadata  metadata.Interface
}

// Open connects to a cluster that serves the operator's kinds.
func Open(config *rest.Config, namespace, operatorNamespace string) (*Cluster, error) {
	c, err := OpenAny(config, namespace, operatorNamespace)
	if err == nil && len(c.Kinds) == 0 {
		err = plugin.ErrNoKinds
	}
	return c, err
}

// OpenAny connects to a cluster, and asks what it serves. Groups whose API server does not answer are left out.
func OpenAny(config *rest.Config, namespace, operatorNamespace string) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // the API server's own priorities are fairer
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	c := &Cluster{Namespace: namespace, OperatorNamespace: operatorNamespace}
	if err := c.connect(config, client); err != nil {
		return nil, err
	}
	_, lists, err := c.discovery.ServerGroupsAndResources()
	if partial := (&discovery.ErrGroupDiscoveryFailed{}); err != nil && !errors.As(err, &partial) {
		return nil, err
	}
	c.Kinds, c.Resources = plugin.Kinds(lists), plugin.Resources(lists)
	return c, nil
}

func (c *Cluster) connect(config *rest.Config, client *http.Client) (err error) {
	if c.discovery, err = discovery.NewDiscoveryClientForConfigAndClient(config, client); err != nil {
		return err
	}
	if c.dynamic, err = dynamic.NewForConfigAndClient(config, client); err != nil {
		return err
	}
	c.metadata, err = metadata.NewForConfigAndClient(config, client)
	return err
}

// resource is the client for a kind: in a namespace, or everywhere when that is empty.
func (c *Cluster) resource(k plugin.Kind, namespace string) dynamic.ResourceInterface {
	if !k.Namespaced {
		return c.dynamic.Resource(k.GroupVersionResource)
	}
	return c.dynamic.Resource(k.GroupVersionResource).Namespace(namespace)
}

// Get reads the object that a user names.
func (c *Cluster) Get(ctx context.Context, kind, name string) (plugin.Kind, *unstructured.Unstructured, error) {
	k, err := plugin.Find(c.Kinds, kind)
	if err != nil {
		return k, nil, err
	}
	o, err := c.resource(k, c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		err = plugin.NotFound(k, c.Namespace, name)
	}
	return k, o, err
}

// each lists objects page by page.
func (c *Cluster) each(ctx context.Context, k plugin.Kind, namespace, selector string, do func(*unstructured.Unstructured)) error {
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: selector}
	for {
		list, err := c.resource(k, namespace).List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			do(&list.Items[i])
		}
		if options.Continue = list.GetContinue(); options.Continue == "" {
			return nil
		}
	}
}

// eachMetadata is each for objects of which only the metadata is read.
func (c *Cluster) eachMetadata(ctx context.Context, k plugin.Kind, namespace, selector string, do func(*unstructured.Unstructured)) error {
	options := metav1.ListOptions{Limit: pageSize, LabelSelector: selector}
	if !k.Namespaced {
		namespace = ""
	}
	resource := c.metadata.Resource(k.GroupVersionResource).Namespace(namespace)
	for {
		list, err := resource.List(ctx, options)
		if err != nil {
			return err
		}
		for i := range list.Items {
			o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": k.GroupVersion().String(), "kind": k.Kind}}
			from := &list.Items[i]
			o.SetNamespace(from.Namespace)
			o.SetName(from.Name)
			o.SetUID(from.UID)
			o.SetOwnerReferences(from.OwnerReferences)
			o.SetDeletionTimestamp(from.DeletionTimestamp)
			o.SetFinalizers(from.Finalizers)
			do(o)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return nil
		}
	}
}

// together runs work for each kind, several at once. The resources of kinds that the user may not list, and those that the
// API server does not list for another reason, are returned. When nothing could be listed at all, an
// error is returned: one that is not about rights, if there is one.
func together(kinds []plugin.Kind, work func(plugin.Kind) error) (plugin.Hidden, error) {
	var lock sync.Mutex
	var all sync.WaitGroup
	hidden, errs, slots := plugin.Hidden{}, []error{}, make(chan struct{}, parallel)
	for _, k := range kinds {
		slots <- struct{}{}
		all.Go(func() {
			err := work(k)
			lock.Lock()
			defer lock.Unlock()
			<-slots
			switch {
			case err == nil || apierrors.IsNotFound(err):
				return
			case apierrors.IsForbidden(err):
				hidden.Forbidden = append(hidden.Forbidden, k.Resource)
			default:
				hidden.Failed = append(hidden.Failed, fmt.Sprintf("%s (%v)", k.Resource, err))
			}
			errs = append(errs, err)
		})
	}
	all.Wait()
	if len(errs) > 0 && len(errs) == len(kinds) {
		other := slices.IndexFunc(errs, func(err error) bool { return !apierrors.IsForbidden(err) })
		return hidden, errs[max(other, 0)]
	}
	return hidden, nil
}

// Overview reads everything of the operator's: in a namespace what is in it, else all.
func (c *Cluster) Overview(ctx context.Context) (plugin.Overview, error) {
	overview, lock := plugin.Overview{Objects: []plugin.Row{}}, sync.Mutex{}
	kinds := make([]plugin.Kind, 0, len(c.Kinds))
	for _, k := range c.Kinds {
		if k.Namespaced || c.Namespace == "" {
			kinds = append(kinds, k)
		}
	}
	hidden, err := together(kinds, func(k plugin.Kind) error {
		return c.each(ctx, k, c.Namespace, "", func(o *unstructured.Unstructured) {
			row := plugin.RowOf(k, o)
			lock.Lock()
			defer lock.Unlock()
			overview.Objects = append(overview.Objects, row)
		})
	})
	overview.Hidden = hidden.Sentences()
	overview.Sort()
	return overview, err
}

// Names are the names of the objects of a kind, for completion.
func (c *Cluster) Names(ctx context.Context, k plugin.Kind) (names []string, err error) {
	err = c.eachMetadata(ctx, k, c.Namespace, "", func(o *unstructured.Unstructured) { names = append(names, o.GetName()) })
	return names, err
}

// Namespaces are the names of the namespaces, for completion.
func (c *Cluster) Namespaces(ctx context.Context) ([]string, error) {
	return c.Names(ctx, plugin.Kind{GroupVersionResource: schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}})
}
