// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/report"
)

// maxReported is how many objects of each of the operator's kinds a report has.
const maxReported = 500

// Report reads what a report is made from, but for the installation: of children and of what is not the operator's the metadata.
func (c *Cluster) Report(ctx context.Context) (f report.Found, err error) {
	f.Namespace, f.Objects = c.Namespace, map[string][]*unstructured.Unstructured{}
	var lock sync.Mutex
	var kinds []plugin.Kind
	for _, k := range c.Kinds {
		if k.Namespaced || c.Namespace == "" {
			kinds = append(kinds, k)
		}
	}
	hidden, err := together(kinds, func(k plugin.Kind) error {
		return c.each(ctx, k, c.Namespace, "", func(o *unstructured.Unstructured) {
			lock.Lock()
			defer lock.Unlock()
			if len(f.Objects[k.Kind]) == maxReported {
				f.Note("there are more %s than the first %d, which are here", k.Resource, maxReported)
				return
			}
			f.Objects[k.Kind] = append(f.Objects[k.Kind], o)
		})
	})
	if err != nil && !apierrors.IsForbidden(err) { // what may not be read is said, and the rest reported
		return f, err
	}
	types, _ := plugin.Made(c.Resources, plugin.Kind{Namespaced: c.Namespace != ""})
	more, err := together(types, func(k plugin.Kind) error {
		return c.eachMetadata(ctx, k, c.Namespace, report.Marked, func(o *unstructured.Unstructured) {
			lock.Lock()
			defer lock.Unlock()
			f.Children = append(f.Children, o)
		})
	})
	hidden.Add(more)
	if err != nil && !apierrors.IsForbidden(err) {
		return f, err
	}
	f.Hidden = hidden
	c.reportEvents(ctx, &f)
	return f, nil
}

// reportEvents reads events of the operator's kinds, as far as that is possible.
func (c *Cluster) reportEvents(ctx context.Context, f *report.Found) {
	events := kindOf("", "events", "Event", true)
	for _, k := range c.Kinds {
		options := metav1.ListOptions{Limit: pageSize, FieldSelector: fields.OneTermEqualSelector("involvedObject.kind", k.Kind).String()}
		list, err := c.resource(events, c.Namespace).List(ctx, options)
		switch {
		case apierrors.IsForbidden(err):
			f.Hidden.Forbidden = append(f.Hidden.Forbidden, events.Resource)
			return
		case err != nil:
			f.Note("the events of %s could not be listed", k.Resource)
			continue
		}
		for i := range list.Items {
			f.Events = append(f.Events, &list.Items[i])
		}
		if list.GetContinue() != "" {
			f.Note("there are more events of %s than the first %d, which are here", k.Resource, pageSize)
		}
	}
}
