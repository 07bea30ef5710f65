// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/workload"
)

// Peers are the kinds whose objects restart workloads. A workload that is restarted for one of them gets the marks
// of all that wait to restart it, so that it rolls once.
type Peers struct {
	// Readings are what their objects have read of sources that they share.
	Readings Readings
	kinds    []peerKind
}

// peerKind lists the requests of the objects of one kind whose restart is pending.
type peerKind struct {
	name string
	list func(ctx context.Context, reader client.Reader, opts ...client.ListOption) ([]Request, error)
}

// marks are the marks that a workload gets along with that of a request: of all other objects that wait to restart it, as
// far as they are newer than what it carries.
func (p *Peers) marks(ctx context.Context, reader client.Reader, req Request, w workload.Workload) (map[string]string, error) {
	out := map[string]string{}
	for _, k := range p.kinds {
		for _, key := range keysOf(w) {
			requests, err := k.list(ctx, reader, client.InNamespace(req.Object.GetNamespace()), client.MatchingFields{selectIndex: key})
			if err != nil {
				return nil, fmt.Errorf("listing what else waits to restart %s: %w", w, err)
			}
			for _, other := range requests {
				other.kind = k.name
				mark, is := other.Status.Pending.Mark, w.Template.Annotations[other.annotation()]
				if other.waitsBeside(req) && other.selects(w) && numberOf(mark) > numberOf(is) {
					out[other.annotation()] = mark
				}
			}
		}
	}
	return out, nil
}

// waitsBeside reports whether a pending restart is that of another object, and will patch workloads.
func (q Request) waitsBeside(req Request) bool {
	return q.Object.GetUID() != req.Object.GetUID() && q.Status.Pending.Number > 0 && !q.Policy.DryRun && q.rolls() &&
		q.Object.GetAnnotations()[names.AnnotationPaused] != "true"
}

// listRequests lists the requests of all objects of a kind whose restart is pending.
func listRequests[T Object](
	newList func() client.ObjectList, request func(T) Request,
) func(context.Context, client.Reader, ...client.ListOption) ([]Request, error) {
	return func(ctx context.Context, reader client.Reader, opts ...client.ListOption) ([]Request, error) {
		list := newList()
		if err := reader.List(ctx, list, append(opts, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)...); err != nil {
			return nil, err
		}
		var all []Request
		err := meta.EachListItem(list, func(item runtime.Object) error {
			if o := item.(T); o.Restarts().Pending != nil {
				all = append(all, request(o))
			}
			return nil
		})
		return all, err
	}
}
