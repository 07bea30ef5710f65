// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/scheduling"
)

// The reasons of events on pods that no scheduler looks at.
const (
	// EventNoSuchScheduler: no SchedulerProfile has the name, and nobody else serves it.
	EventNoSuchScheduler = "NoSuchScheduler"
	// EventNotServing: the scheduler of the SchedulerProfile with the name does not serve.
	EventNotServing = "SchedulerNotServing"
)

const (
	// eachSecond is how many events are written in a second at most.
	eachSecond = 10
	// pageSize is how many pods are read at once at most.
	pageSize = 10
)

// unserved tells pods that no scheduler looks at them: their status says nothing. It also removes the Leases of schedulers that are not
// to run any more: one that ends may have written its Lease once more.
type unserved struct {
	namespace string
	client    client.Client
	live      client.Reader
	pods      kubernetes.Interface
	clock     clock.PassiveClock
	waiting   *waiting
	swept     time.Time
}

func newUnserved(mgr ctrl.Manager, o Options) (*unserved, error) {
	pods, err := kubernetes.NewForConfigAndClient(mgr.GetConfig(), mgr.GetHTTPClient())
	if err != nil {
		return nil, err
	}
	return &unserved{
		namespace: o.Namespace, client: mgr.GetClient(), live: mgr.GetAPIReader(), pods: pods, clock: o.Clock, waiting: newWaiting(),
	}, nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (*unserved) NeedLeaderElection() bool { return true }

// Start implements manager.Runnable.
func (u *unserved) Start(ctx context.Context) error {
	reflector := toolscache.NewReflectorWithOptions(u.source(), &corev1.Pod{}, u.waiting, toolscache.ReflectorOptions{Name: Name})
	reflector.WatchListPageSize = pageSize
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		reflector.RunWithContext(ctx)
	}()
	wait.UntilWithContext(ctx, u.pass, time.Second)
	<-ended
	return nil
}

// source lists and watches the pods that have no node and name another scheduler than the default one. Of each it passes on only what is
// needed. Where the API server does not stream lists, it reads pageSize pods at a time, because each may have 1.5 MB. Once the pages of a
// list have expired, the reflector would read all pods at once: it has to begin again instead.
func (u *unserved) source() toolscache.ListerWatcher {
	selector := fields.AndSelectors(fields.OneTermEqualSelector("spec.nodeName", ""),
		fields.OneTermNotEqualSelector("spec.schedulerName", corev1.DefaultSchedulerName)).String()
	return &toolscache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
			if o.Limit == 0 {
				return nil, apierrors.NewResourceExpired("the pages of the list have expired, and it is too long to be read at once")
			}
			o.FieldSelector = selector
			o.ResourceVersion, o.ResourceVersionMatch = "", "" // from its cache, the API server sends all pods in one page
			list, err := u.pods.CoreV1().Pods("").List(ctx, o)
			for i := range list.Items {
				list.Items[i] = *pruned(&list.Items[i])
			}
			return list, err
		},
		WatchFuncWithContext: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = selector
			events, err := u.pods.CoreV1().Pods("").Watch(ctx, o)
			if err != nil {
				return nil, err
			}
			return watch.Filter(events, func(e watch.Event) (watch.Event, bool) {
				if p, is := e.Object.(*corev1.Pod); is && e.Type != watch.Bookmark {
					e.Object = pruned(p)
				}
				return e, true
			}), nil
		},
	}
}

// pass tells some pods, and sweeps once a minute.
func (u *unserved) pass(ctx context.Context) {
	list := &v1alpha1.SchedulerProfileList{}
	if err := u.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list SchedulerProfiles")
		return
	}
	now := u.clock.Now()
	for uid, r := range u.waiting.due(now, func(scheduler string) string { return reasonFor(list.Items, scheduler) }) {
		u.tell(ctx, list.Items, uid, r)
	}
	if now.Sub(u.swept) >= recheck {
		u.swept = now
		u.sweep(ctx, list.Items)
	}
}

func ownerOf(all []v1alpha1.SchedulerProfile, scheduler string) string {
	for i := range all {
		if scheduling.Serves(&all[i], scheduler) {
			return all[i].Name
		}
	}
	return ""
}

func reasonFor(all []v1alpha1.SchedulerProfile, scheduler string) string {
	if ownerOf(all, scheduler) == "" {
		return EventNoSuchScheduler
	}
	return EventNotServing
}

// tell writes an event about a pod. It has a name of its own, so that another operator does not write it again.
func (u *unserved) tell(ctx context.Context, all []v1alpha1.SchedulerProfile, uid types.UID, r row) {
	namespace, scheduler := r.namespace.Value(), r.scheduler.Value()
	reason := reasonFor(all, scheduler)
	note := fmt.Sprintf("nothing has looked at this pod for a minute: no scheduler is called %s; correct spec.schedulerName, or create a "+
		"SchedulerProfile with this profile", scheduler)
	if owner := ownerOf(all, scheduler); owner != "" {
		note = fmt.Sprintf("nothing has looked at this pod for a minute: the scheduler %s does not serve; see the conditions of the SchedulerProfile %s",
			scheduler, owner)
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: string(uid) + "." + strings.ToLower(reason)},
		EventTime:  metav1.NewMicroTime(u.clock.Now()), ReportingController: names.Operator + "/" + Name, ReportingInstance: names.Operator,
		Action: "Schedule", Type: corev1.EventTypeWarning, Reason: reason, Note: names.Note(note),
		Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: namespace, Name: r.name, UID: uid},
	}
	err := u.client.Create(ctx, event, client.DisableReadYourWritesConsistency)
	lasting := apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsNotFound(err) // for instance in a namespace that ends
	if err != nil && !apierrors.IsAlreadyExists(err) {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot write an event about a pod", "namespace", namespace, "pod", r.name)
	}
	if err == nil || lasting || apierrors.IsAlreadyExists(err) {
		u.waiting.tell(uid, reason)
	}
}

// sweep removes Leases of schedulers that nobody renews, and that no object is to have.
func (u *unserved) sweep(ctx context.Context, all []v1alpha1.SchedulerProfile) {
	list := &coordinationv1.LeaseList{}
	if err := u.live.List(ctx, list, client.InNamespace(u.namespace)); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot list Leases")
		return
	}
	for i := range list.Items {
		l := &list.Items[i]
		wanted := slices.ContainsFunc(all, func(p v1alpha1.SchedulerProfile) bool {
			return childName(&p) == l.Name && len(scheduling.Taken(&p, all)) == 0
		})
		if wanted || !u.abandoned(l) {
			continue
		}
		err := u.client.Delete(ctx, l, client.DisableReadYourWritesConsistency,
			client.Preconditions{UID: new(l.UID), ResourceVersion: new(l.ResourceVersion)})
		if client.IgnoreNotFound(err) != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Cannot delete a Lease", "lease", l.Name)
		}
	}
}

// abandoned reports whether a Lease has the name of a scheduler's, and has not been renewed for a minute.
func (u *unserved) abandoned(l *coordinationv1.Lease) bool {
	renewed := ptr.Deref(l.Spec.RenewTime, metav1.MicroTime{Time: l.CreationTimestamp.Time}).Time
	return strings.HasSuffix(l.Name, "-"+Name) && u.clock.Since(renewed) >= recheck
}

var unservedPods = prometheus.NewDesc("platform_operator_unserved_pods",
	"Pods that are older than a minute and that no scheduler has looked at, by the scheduler that they name. Those that name none of a "+
		"SchedulerProfile are counted together, as (others).",
	[]string{"scheduler"}, nil)

// Describe implements prometheus.Collector.
func (*unserved) Describe(ch chan<- *prometheus.Desc) { ch <- unservedPods }

// Collect implements prometheus.Collector. While SchedulerProfiles cannot be listed within a second, there are no series.
func (u *unserved) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	list := &v1alpha1.SchedulerProfileList{}
	if err := u.client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return
	}
	for name, n := range series(u.waiting.count(u.clock.Now()), list.Items) {
		ch <- prometheus.MustNewConstMetric(unservedPods, prometheus.GaugeValue, float64(n), name)
	}
}

// others is the label of pods that name no scheduler of a SchedulerProfile. None can have this name.
const others = "(others)"

// series returns how many pods no scheduler has looked at, by the names that SchedulerProfiles have: tenants choose the names that pods
// have, which are therefore no labels.
func series(tallies map[string]tally, all []v1alpha1.SchedulerProfile) map[string]int32 {
	out := map[string]int32{}
	for name, t := range tallies {
		if ownerOf(all, name) == "" {
			name = others
		}
		if t.unserved > 0 {
			out[name] += t.unserved
		}
	}
	return out
}
