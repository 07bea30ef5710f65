// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package registration registers the aggregated API views.acme.com in the cluster, and takes it away whenever the API server cannot
// reach what serves it: an APIService that nobody answers keeps every Namespace of the cluster from being deleted. It makes the
// certificate of the reader, too, and rotates it.
//
// It owns the APIService and, unless another writes it, the Secret with the certificate. It never writes what has to do with the
// views themselves: those are served by a program of its own (cmd/views), which needs nothing of this one but the Secret.
//
// decide.go and certificate.go decide; the rest reads and writes.
package registration

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/acme/platform-operator/internal/certificate"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

const (
	// tick is how often the world is looked at while a delay runs or something has failed, and resync while all is well: a change is an
	// event, which wakes it.
	tick   = 5 * time.Second
	resync = time.Hour
	// writeTimeout bounds what is written to the Secret, and likewise what is written to the APIService: neither takes time from the other.
	// It is longer than API servers wait for a webhook, unless that says otherwise.
	writeTimeout = 15 * time.Second
	// askInterval is how often the reader is asked while it is available, and askTimeout how long an answer is waited for.
	askInterval = 10 * time.Second
	askTimeout  = 3 * time.Second
)

// Options configure the registration.
type Options struct {
	Names
	// Enabled registers the API; else it is taken away.
	Enabled bool
	// Provided leaves the Secret with the certificate to somebody else.
	Provided bool
	// UnreachableAfter is how long the API may be unavailable until it is taken away.
	UnreachableAfter time.Duration
	// ClusterServiceVersion is the one that OLM installed the operator by; empty without OLM.
	ClusterServiceVersion string
	// Clock replaces the real one in tests.
	Clock clock.PassiveClock
}

// registrar is the part of the leader that registers the API.
type registrar struct {
	Options
	live     client.Client
	caches   cache.Cache
	api      rest.Interface
	recorder events.EventRecorder
	metric   *gauge
	changed  chan struct{}

	memory memory
	// answered is when the reader last answered; zero while the API is not registered. asked is when it was asked.
	answered, asked time.Time
	// reported is the decision that was reported last.
	reported decision
}

var (
	_ manager.Runnable               = (*registrar)(nil)
	_ manager.LeaderElectionRunnable = (*registrar)(nil)
)

// create knows no names: the policy apiservice-bounds of config/policy restricts it.
//
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,verbs=create
// +kubebuilder:rbac:groups=apiregistration.k8s.io,resources=apiservices,resourceNames=v1alpha1.views.acme.com,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=rbac.authorization.k8s.io,resources=clusterroles,verbs=list;watch
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,verbs=create
// +kubebuilder:rbac:groups="",namespace=system,resources=secrets,resourceNames=platform-operator-views-cert,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups="",namespace=system,resources=services,resourceNames=platform-operator-views,verbs=get;list;watch
// +kubebuilder:rbac:groups=discovery.k8s.io,namespace=system,resources=endpointslices,verbs=list;watch
// +kubebuilder:rbac:groups=apps,namespace=system,resources=deployments,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,namespace=system,resources=events,verbs=create;patch

// Register adds the registration to the manager.
func Register(mgr ctrl.Manager, o Options) error {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	live, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper()})
	if err != nil {
		return fmt.Errorf("creating a client to register the views: %w", err)
	}
	caches, err := cache.New(mgr.GetConfig(), cache.Options{
		HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(), Mapper: mgr.GetRESTMapper(),
		DefaultTransform: cache.TransformStripManagedFields(), ByObject: o.watched(),
	})
	if err != nil {
		return fmt.Errorf("creating the caches to register the views: %w", err)
	}
	api, err := rest.UnversionedRESTClientForConfigAndClient(unversioned(mgr.GetConfig()), mgr.GetHTTPClient())
	if err != nil {
		return fmt.Errorf("creating a client to ask the views: %w", err)
	}
	r := &registrar{
		Options: o, live: live, caches: caches, api: api, recorder: mgr.GetEventRecorder(names.Operator),
		metric: &gauge{}, changed: make(chan struct{}, 1), reported: decision{cause: causeDisabled},
	}
	if err := mgr.Add(r); err != nil {
		return fmt.Errorf("adding the registration of the views: %w", err)
	}
	return nil
}

// NeedLeaderElection returns true: one replica registers.
func (r *registrar) NeedLeaderElection() bool { return true }

// Start registers the API, and takes it away, until ctx ends.
func (r *registrar) Start(ctx context.Context) error {
	ctx = ctrl.LoggerInto(ctx, ctrl.LoggerFrom(ctx).WithName("views"))
	if err := engine.Observe(r.metric); err != nil {
		return fmt.Errorf("registering the metric of the views: %w", err)
	}
	ended := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	go func() { ended <- r.caches.Start(ctx) }()
	defer func() { stop(); <-ended }()
	if err := r.subscribe(ctx); err != nil {
		return err
	}
	if !r.caches.WaitForCacheSync(ctx) {
		return nil
	}
	w, err := r.look(ctx, r.caches)
	if err != nil {
		return err
	}
	r.reported.register = w.apiService != nil // a new leader reports nothing that has not changed
	for {
		if !r.wait(ctx, r.pass(ctx)) {
			return nil
		}
	}
}

// subscribe has every change of what is watched looked at.
func (r *registrar) subscribe(ctx context.Context) error {
	notify := func() {
		select {
		case r.changed <- struct{}{}:
		default: // it will look in any case
		}
	}
	for o := range r.watched() {
		informer, err := r.caches.GetInformer(ctx, o, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T: %w", o, err)
		}
		if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc: func(any) { notify() }, UpdateFunc: func(any, any) { notify() }, DeleteFunc: func(any) { notify() },
		}); err != nil {
			return fmt.Errorf("watching %T: %w", o, err)
		}
	}
	return nil
}

// wait waits for a change, or for the time to look again. It returns false when ctx has ended.
func (r *registrar) wait(ctx context.Context, recheck time.Duration) bool {
	timer := time.NewTimer(recheck)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-r.changed:
	case <-timer.C:
	}
	return true
}

// pass looks at the world, does what follows, and returns when to look again at the latest.
func (r *registrar) pass(ctx context.Context) time.Duration {
	w, err := r.look(ctx, r.caches)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Cannot tell whether the views can be registered")
		return tick
	}
	r.ask(ctx, w)
	seen := r.observe(w)
	r.metric.set(seen)
	var d decision
	d, r.memory = decide(seen, r.memory, r.Clock.Now())
	if !d.register { // first, because it needs no certificate, and the whole cluster may wait for it
		err = r.carryOut(ctx, d, w, nil)
	}
	bundle, renewal, failed := r.certify(ctx, w)
	if d.register && len(bundle) > 0 {
		err = r.carryOut(ctx, d, w, bundle)
	}
	err = errors.Join(err, failed)
	switch {
	case err != nil:
		complain(ctx, err)
		return tick
	case d.recheck > 0:
		return min(d.recheck, tick)
	}
	next := resync
	if available(w) {
		next = askInterval
	}
	return min(sooner(renewal, next), next)
}

// unversioned is the access by which paths are asked.
func unversioned(cfg *rest.Config) *rest.Config {
	cfg = rest.CopyConfig(cfg)
	cfg.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	return cfg
}

func available(w world) bool { return w.apiService != nil && isAvailable(w.apiService) }

// ask asks the reader, by way of an API server, whether it answers: what API servers say of it is up to noticedWithin old. That there is no
// answer means nothing: only API servers decide that they do not reach it.
func (r *registrar) ask(ctx context.Context, w world) {
	now := r.Clock.Now()
	switch {
	case w.apiService == nil:
		r.answered, r.asked = time.Time{}, time.Time{}
		return
	case !available(w) || !r.Enabled || !r.asked.After(now) && now.Sub(r.asked) < askInterval:
		return
	}
	r.asked = now
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	if r.api.Get().AbsPath("/apis/"+apiGroup+"/"+apiVersion).MaxRetries(0).Do(ctx).Error() == nil {
		r.answered = now
	}
}

// complain logs what could not be done. A conflict with what the caches do not show yet is none of that.
func complain(ctx context.Context, err error) {
	if ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		ctrl.LoggerFrom(ctx).Info("Could not register the views as intended, trying again", "error", err.Error())
	}
}

func (r *registrar) observe(w world) observation {
	o := observation{
		enabled: r.Enabled, patience: r.UnreachableAfter, owned: len(w.owners) > 0, served: w.port != 0 && w.ready,
		certified: !r.Provided || len(provided(w)) > 0,
	}
	if w.apiService != nil {
		o.present, o.available = true, isAvailable(w.apiService)
		o.holder, o.unavailableSince = holderOf(w.apiService, r.Names), unavailableSince(w.apiService)
		o.answered = r.answered
	}
	return o
}

// carryOut makes the APIService what was decided, and reports that.
func (r *registrar) carryOut(ctx context.Context, d decision, w world, bundle []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	if err := r.write(ctx, d, w, bundle); err != nil {
		return err
	}
	r.report(ctx, d)
	return nil
}

// write sends nothing if the APIService is as it was decided already. What it sends fails if the APIService is another one than the caches
// show: another installation may have registered meanwhile.
func (r *registrar) write(ctx context.Context, d decision, w world, bundle []byte) error {
	switch {
	case d.cause == causeNameTaken:
		return nil
	case d.register && w.port == 0: // the Service is gone for a moment: nothing is known that could be better
		return nil
	case d.register:
		want := desired(r.Names, w.owners, w.port, bundle, r.ClusterServiceVersion)
		if w.apiService != nil && upToDate(w.apiService, want) {
			return nil
		}
		return r.register(ctx, w.apiService, want)
	case w.apiService != nil:
		uid := w.apiService.GetUID()
		err := r.live.Delete(ctx, w.apiService, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the APIService: %w", err)
		}
	}
	return nil
}

// register creates the APIService, or changes the one that was seen. It does not apply: an apply creates and changes, whichever is needed,
// and two installations that both see no APIService would take it from each other.
func (r *registrar) register(ctx context.Context, live, want *unstructured.Unstructured) error {
	manager := client.FieldOwner(names.FieldManager("views"))
	if live == nil {
		if err := r.live.Create(ctx, want, manager); err != nil {
			return fmt.Errorf("creating the APIService: %w", err)
		}
		return nil
	}
	patch := client.MergeFromWithOptions(live, client.MergeFromWithOptimisticLock{})
	if err := r.live.Patch(ctx, changed(live, want), patch, manager); err != nil {
		return fmt.Errorf("changing the APIService: %w", err)
	}
	return nil
}

// certify returns the certificates that API servers shall trust, and when the Secret has to be looked at again. It does the step of the
// rotation that is due.
func (r *registrar) certify(ctx context.Context, w world) (bundle []byte, recheck time.Duration, err error) {
	if r.Provided {
		return provided(w), 0, nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	secret := w.secret
	if secret == nil {
		secret = &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.Secret(), Labels: map[string]string{
				names.LabelManagedBy: names.Operator, labelName: names.Operator,
			}},
			Type: corev1.SecretTypeTLS,
		}
	}
	now := r.Clock.Now()
	k, recheck, err := readKeyring(secret, r.hosts()).advance(trustedBy(w), now, func() (*pair, error) { return newPair(r.hosts(), now) })
	if err == nil {
		err = r.store(ctx, secret, k)
	}
	if err != nil {
		// What API servers trust stays as it is, so that a reader with a certificate of before is still reached.
		if w.apiService != nil {
			bundle = bundleOf(w.apiService)
		}
		return bundle, 0, err
	}
	return k.bundle(), recheck, nil
}

// provided returns the certificates that somebody else wrote into the Secret; empty while there are none.
func provided(w world) []byte {
	if w.secret == nil || len(certificate.ParseBundle(w.secret.Data[bundleKey])) == 0 {
		return nil
	}
	return w.secret.Data[bundleKey]
}
