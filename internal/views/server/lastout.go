// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"fmt"
	"os"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

const (
	// leaveTimeout is how long a replica waits at its end until its end is shown. A replica that is restarted in place is shown as ready
	// until three probes have failed, which takes 15 s. The grace period of its pod is longer than preStop, this and drain together.
	leaveTimeout = 25 * time.Second
	// leaveInterval is how often it looks meanwhile, and leaveRequest how long it waits for one answer.
	leaveInterval = 500 * time.Millisecond
	leaveRequest  = 5 * time.Second
)

var apiServices = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// apiServiceName is the name that an APIService of the group and version must have.
func apiServiceName() string {
	return v1alpha1.GroupVersion.Version + "." + v1alpha1.GroupVersion.Group
}

// lastOut deletes the APIService when the last replica ends. An APIService that nobody serves would keep namespaces from being deleted;
// the operator creates it again once a replica is ready.
//
// Replicas that end at the same time must not leave it to each other. So each waits until its own end is shown in the EndpointSlices: the
// last one that is shown sees the ends of all others. Its pod's preStop gives that time, so there is mostly nothing to wait for. What cannot
// be known in time is left to the operator, and to the garbage collector: the APIService goes with a ClusterRole that an uninstall deletes, by
// which it may have taken the rights of this replica.
type lastOut struct {
	namespace, service, replica string
	endpoints                   kubernetes.Interface
	registrations               dynamic.Interface
	clock                       clock.WithTicker
}

func newLastOut(o Options, client kubernetes.Interface) (*lastOut, error) {
	registrations, err := dynamic.NewForConfig(o.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client for the APIService: %w", err)
	}
	if o.Replica == "" {
		if o.Replica, err = os.Hostname(); err != nil {
			return nil, fmt.Errorf("finding this replica's name: %w", err)
		}
	}
	return &lastOut{
		namespace: o.Namespace, service: o.Service, replica: o.Replica, endpoints: client, registrations: registrations, clock: o.Clock,
	}, nil
}

// leave is called once the replica has to end, while it still serves. That it fails is logged only: the operator does the same, later.
func (l *lastOut) leave() error {
	if l.namespace == "" || l.service == "" {
		return nil
	}
	begin, ticker := l.clock.Now(), l.clock.NewTicker(leaveInterval)
	defer ticker.Stop()
	for {
		left, err := l.unregister()
		switch {
		case left:
			return nil
		case l.clock.Since(begin) >= leaveTimeout:
			klog.ErrorS(err, "Leaving the APIService to the operator: whether another replica serves was not known in time", "apiservice", apiServiceName())
			return nil
		}
		<-ticker.C()
	}
}

// unregister deletes the APIService if this is the last replica. It returns whether the replica can end.
func (l *lastOut) unregister() (left bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), leaveRequest)
	defer cancel()
	// The UID is read before the endpoints: a registration after that is for replicas that came since, and stays.
	registration, err := l.registrations.Resource(apiServices).Get(ctx, apiServiceName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsUnauthorized(err), apierrors.IsForbidden(err):
		klog.InfoS("The account of this replica or its rights are gone: the installation is being removed", "replica", l.replica)
		return true, nil
	case err != nil:
		return false, fmt.Errorf("reading the APIService: %w", err)
	case !l.own(registration):
		return true, nil
	}
	if s, err := l.standing(ctx); s != last {
		return s == replaced, err
	}
	err = l.registrations.Resource(apiServices).Delete(ctx, apiServiceName(), *metav1.NewPreconditionDeleteOptions(string(registration.GetUID())))
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return false, fmt.Errorf("deleting the APIService: %w", err)
	}
	klog.InfoS("Deleted the APIService, because no other replica is known to serve", "apiservice", apiServiceName())
	return true, nil
}

func (l *lastOut) standing(ctx context.Context) (standing, error) {
	slices, err := l.endpoints.DiscoveryV1().EndpointSlices(l.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: discoveryv1.LabelServiceName + "=" + l.service,
	})
	if err != nil {
		return unknown, fmt.Errorf("listing the other replicas: %w", err)
	}
	return standingOf(l.replica, slices.Items), nil
}

// own reports whether an APIService leads to these replicas, and the operator made it. That of another installation has the same marks.
func (l *lastOut) own(registration *unstructured.Unstructured) bool {
	service, _, _ := unstructured.NestedMap(registration.Object, "spec", "service")
	return service["namespace"] == l.namespace && service["name"] == l.service && registration.GetLabels()[names.LabelManagedBy] == names.Operator
}

// standing is what a replica that ends is among all.
type standing int

const (
	// unknown: its end is not shown yet, so the ends of others may not be shown either.
	unknown standing = iota
	// replaced: another replica serves.
	replaced
	// last: no other replica serves.
	last
)

// standingOf reads the EndpointSlices, of which there may be several for each family of addresses, updated one after the other.
func standingOf(replica string, all []discoveryv1.EndpointSlice) standing {
	s := last
	for _, slice := range all {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready != nil && !*e.Conditions.Ready { // one that does not say is ready
				continue
			}
			if e.TargetRef != nil && e.TargetRef.Name == replica {
				return unknown
			}
			s = replaced
		}
	}
	return s
}
