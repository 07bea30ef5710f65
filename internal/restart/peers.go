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
)

// Peers are the kinds whose objects restart workloads. A workload that is restarted for one of them gets the marks
// of all that wait to restart it, so that it rolls once.
type Peers struct{ kinds []peerKind }

// peerKind lists the requests of the objects of one kind in a namespace whose restart is pending.
type peerKind struct {
	name string
	list func(ctx context.Context, reader client.Reader, namespace string) ([]Request, error)
}

// peer is another object whose restart is pending.
type peer struct {
	key, mark string
	Request
}

type peers []peer

// pending lists the other objects of the namespace whose restart of workloads is pending.
func (p *Peers) pending(ctx context.Context, reader client.Reader, req Request) (peers, error) {
	var all peers
	for _, k := range p.kinds {
		requests, err := k.list(ctx, reader, req.Object.GetNamespace())
		if err != nil {
			return nil, fmt.Errorf("listing what else waits to restart something: %w", err)
		}
		for _, other := range requests {
			waits := other.Status.Pending
			if waits.Number == 0 || other.Policy.DryRun || !other.rolls() || other.Object.GetUID() == req.Object.GetUID() ||
				other.Object.GetAnnotations()[names.AnnotationPaused] == "true" {
				continue
			}
			all = append(all, peer{names.RestartMark(k.name, other.Object.GetName()), waits.Mark, other})
		}
	}
	return all, nil
}

// marks are the marks of peers that a workload gets along: those that are newer than what it carries.
func (p peers) marks(w workload) map[string]string {
	out := map[string]string{}
	for _, other := range p {
		if other.selects(w) && numberOf(other.mark) > numberOf(w.template.Annotations[other.key]) {
			out[other.key] = other.mark
		}
	}
	return out
}

// listRequests lists the requests of all objects of a kind whose restart is pending, in a namespace; in all namespaces when
// it is "".
func listRequests[T Object](
	newList func() client.ObjectList, request func(T) Request,
) func(context.Context, client.Reader, string) ([]Request, error) {
	return func(ctx context.Context, reader client.Reader, namespace string) ([]Request, error) {
		list := newList()
		if err := reader.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
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
