// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/acme/platform-operator/internal/engine"
)

const (
	// conditionVariable is set by OLM in every container that it runs. Without OLM there is nothing to report.
	conditionVariable = "OPERATOR_CONDITION_NAME"
	// criticalFor is the longest time for which one object delays an upgrade: meanwhile the cluster has new
	// CRDs and the old operator, and an object that is stuck must not keep it so.
	criticalFor = 10 * time.Minute
	// conditionRetry is when a condition that could not be written is written again.
	conditionRetry = 10 * time.Second

	reasonIdle     = "NothingCritical"
	reasonCritical = "InFlight"
)

// upgradeable reports to OLM whether the operator may be replaced now: the condition Upgradeable of the
// OperatorCondition is False while something critical is in progress. Only the leader reports it.
type upgradeable struct {
	condition conditions.Condition
	clock     clock.PassiveClock
	scheme    *runtime.Scheme
	informers func(context.Context, client.Object) (informer, error)

	mu      sync.Mutex
	flights map[flightKey]flight
	changed chan struct{}
}

// informer is the part of an informer that is used.
type informer interface {
	AddEventHandler(handler toolscache.ResourceEventHandler) (toolscache.ResourceEventHandlerRegistration, error)
}

type flightKey struct{ kind, namespace, name string }

// flight is an object in a critical state.
type flight struct {
	since time.Time
	why   string
}

// verdict is the condition that is reported.
type verdict struct {
	status          metav1.ConditionStatus
	reason, message string
}

// addUpgradeable adds the reporting of the condition Upgradeable to the manager. Without OLM it does nothing.
func addUpgradeable(mgr ctrl.Manager, restConfig *rest.Config, o Options) error {
	condition := o.Upgradeable
	if condition == nil {
		var err error
		if condition, err = inClusterCondition(restConfig); err != nil || condition == nil {
			return err
		}
	}
	u := &upgradeable{
		condition: condition, clock: o.Clock, scheme: mgr.GetScheme(), flights: map[flightKey]flight{}, changed: make(chan struct{}, 1),
		informers: func(ctx context.Context, o client.Object) (informer, error) {
			return mgr.GetCache().GetInformer(ctx, o, cache.BlockUntilSynced(false))
		},
	}
	if u.clock == nil {
		u.clock = clock.RealClock{}
	}
	if err := mgr.Add(u); err != nil {
		return fmt.Errorf("adding the condition Upgradeable: %w", err)
	}
	return nil
}

// inClusterCondition returns the condition that OLM reads; nil without OLM. The role that OLM creates allows
// get and update of this one object and neither list nor watch, so the client must not have a cache.
func inClusterCondition(restConfig *rest.Config) (conditions.Condition, error) {
	if os.Getenv(conditionVariable) == "" {
		return nil, nil
	}
	scheme := runtime.NewScheme()
	if err := operatorsv2.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering the OperatorCondition: %w", err)
	}
	live, err := client.New(restConfig, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("creating a client for the OperatorCondition: %w", err)
	}
	condition, err := conditions.InClusterFactory{Client: live}.NewCondition(operatorsv2.ConditionType(operatorsv2.Upgradeable))
	if err != nil {
		return nil, fmt.Errorf("finding the OperatorCondition: %w", err)
	}
	return condition, nil
}

// NeedLeaderElection returns true: only the leader reports.
func (u *upgradeable) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (u *upgradeable) Start(ctx context.Context) error {
	for _, k := range Kinds {
		if k.Critical == nil {
			continue
		}
		if err := u.watch(ctx, k); err != nil {
			return err
		}
	}
	var reported verdict
	for {
		now, recheck := u.judge()
		if now != reported {
			if err := u.report(ctx, now); err != nil {
				ctrl.LoggerFrom(ctx).Info("Could not write the condition Upgradeable, trying again", "error", err.Error())
				recheck = conditionRetry
			} else {
				reported = now
			}
		}
		if !u.wait(ctx, recheck) {
			return nil
		}
	}
}

// wait waits for a change, or for the time to look again unless that is zero. It returns false when ctx has
// ended.
func (u *upgradeable) wait(ctx context.Context, recheck time.Duration) bool {
	var due <-chan time.Time
	if recheck > 0 {
		timer := time.NewTimer(recheck)
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-u.changed:
	case <-due:
	}
	return true
}

// report writes the condition. Another writer may change the object meanwhile.
func (u *upgradeable) report(ctx context.Context, v verdict) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		return u.condition.Set(ctx, v.status, conditions.WithReason(v.reason), conditions.WithMessage(v.message))
	})
}

// watch follows the objects of a kind through the cache that its controller uses.
func (u *upgradeable) watch(ctx context.Context, k Kind) error {
	source, err := u.informers(ctx, k.Object)
	if err != nil {
		return fmt.Errorf("watching %T: %w", k.Object, err)
	}
	gvk, err := apiutil.GVKForObject(k.Object, u.scheme)
	if err != nil {
		return err
	}
	kind := gvk.Kind
	seen := func(in any) {
		if o, ok := in.(engine.Object); ok {
			since, why := k.Critical(o)
			u.note(flightKey{kind, o.GetNamespace(), o.GetName()}, flight{since, why})
		}
	}
	_, err = source.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, o any) { seen(o) },
		DeleteFunc: func(in any) {
			if last, ok := in.(toolscache.DeletedFinalStateUnknown); ok {
				in = last.Obj
			}
			if o, ok := in.(engine.Object); ok {
				u.note(flightKey{kind, o.GetNamespace(), o.GetName()}, flight{})
			}
		},
	})
	return err
}

// note records whether an object is critical.
func (u *upgradeable) note(key flightKey, f flight) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if f == u.flights[key] {
		return
	}
	if f.why == "" {
		delete(u.flights, key)
	} else {
		u.flights[key] = f
	}
	select {
	case u.changed <- struct{}{}:
	default: // it will look in any case
	}
}

// judge returns what to report now, and when to look again at the latest; zero means never.
func (u *upgradeable) judge() (verdict, time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	return judge(u.flights, u.clock.Now())
}

// judge is pure. An object that has been critical for too long no longer counts.
func judge(flights map[flightKey]flight, now time.Time) (verdict, time.Duration) {
	var holding []flightKey
	var recheck time.Duration
	for key, f := range flights {
		left := f.since.Add(criticalFor).Sub(now)
		if left <= 0 {
			continue
		}
		holding = append(holding, key)
		if recheck == 0 || left < recheck {
			recheck = left
		}
	}
	if len(holding) == 0 {
		return verdict{metav1.ConditionTrue, reasonIdle, "nothing critical is in progress"}, 0
	}
	first := slices.MinFunc(holding, func(a, b flightKey) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.name, b.name))
	})
	message := fmt.Sprintf("%s %s: %s", first.kind, first.path(), flights[first].why)
	if more := len(holding) - 1; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	return verdict{metav1.ConditionFalse, reasonCritical, message}, recheck
}

func (k flightKey) path() string {
	if k.namespace == "" {
		return k.name
	}
	return k.namespace + "/" + k.name
}
