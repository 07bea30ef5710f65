// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/workload"
)

// Object is an object of a kind that restarts.
type Object interface {
	engine.Object
	// Restarts is the part of its status that this package keeps.
	Restarts() *common.RestartStatus
}

// Config is what a kind says about itself.
type Config[T Object] struct {
	// Kind is its name in lower case, part of the name of the mark: configwatcher.
	Kind string
	// Namespace is the operator's own.
	Namespace string
	// Clock is the time.
	Clock clock.PassiveClock
	// Peers are the kinds that restart, of one manager.
	Peers *Peers
	// Request is what an object asks for, without what it observes. It is also asked of objects that are not to be
	// changed.
	Request func(T) Request
}

// Register makes the Restarter of a kind, and the watches of workloads for engine.Config. The prototype is an
// empty object of the kind. It is all that a kind needs to call; no other kind has to know of it.
func Register[T Object](mgr ctrl.Manager, prototype T, c Config[T]) (*Restarter, []engine.Watch[T], error) {
	newList, err := engine.ListOf(mgr.GetScheme(), prototype)
	if err != nil {
		return nil, nil, fmt.Errorf("making a list of %s: %w", c.Kind, err)
	}
	if err := index(mgr.GetFieldIndexer(), prototype, c); err != nil {
		return nil, nil, err
	}
	requests := listRequests(newList, c.Request)
	c.Peers.kinds = append(c.Peers.kinds, peerKind{c.Kind, requests})
	err = observePending(c.Kind, c.Clock, func(ctx context.Context) ([]*common.PendingRestart, error) {
		all, err := requests(ctx, mgr.GetCache())
		var waiting []*common.PendingRestart
		for _, r := range all {
			waiting = append(waiting, r.Status.Pending)
		}
		return waiting, err
	})
	if err != nil {
		return nil, nil, err
	}
	recorder := mgr.GetEventRecorder(c.Kind)
	r := New(Options{
		Kind: c.Kind, Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Clock: c.Clock, Namespace: c.Namespace, Peers: c.Peers,
		Event: func(about client.Object, eventType, reason, note string) {
			recorder.Eventf(about, nil, eventType, reason, "Restart", "%s", note)
		},
	})
	return r, watches[T](c.Kind), nil
}

// index adds the look-ups of workloads, by what selects them, and of objects whose restart is pending, by what they select.
func index[T Object](indexer client.FieldIndexer, prototype T, c Config[T]) error {
	add := func(of client.Object, keys client.IndexerFunc) error {
		if err := indexer.IndexField(context.Background(), of, selectIndex, keys); err != nil {
			return fmt.Errorf("indexing %T by what selects it: %w", of, err)
		}
		return nil
	}
	err := add(prototype, func(o client.Object) []string {
		if one := o.(T); one.Restarts().Pending != nil {
			return []string{c.Request(one).key()}
		}
		return nil
	})
	if len(c.Peers.kinds) > 0 { // the first kind has done the workloads
		return err
	}
	for _, of := range workload.Types() {
		err = errors.Join(err, add(of, func(o client.Object) []string {
			w, _ := workload.Of(o)
			return keysOf(w)
		}))
	}
	return err
}

// watches are those of the workloads that an object has restarted.
func watches[T Object](kind string) []engine.Watch[T] {
	var all []engine.Watch[T]
	for _, of := range workload.Types() {
		all = append(all, engine.Watch[T]{
			Of: of,
			UIDs: func(obj T) []types.UID {
				var uids []types.UID
				for _, w := range obj.Restarts().Workloads {
					uids = append(uids, w.UID)
				}
				return uids
			},
			Concerns: func(obj T, changed client.Object) bool {
				ready := meta.FindStatusCondition(obj.CommonStatus().Conditions, engine.Ready)
				held := ready != nil && ready.Reason == ReasonRolloutHeld
				return concerns(names.RestartMark(kind, obj.GetName()), obj.Restarts(), held, changed)
			},
		})
	}
	return all
}
