// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/acme/platform-operator/internal/registration"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

const (
	service = "platform-operator-views"
	ops     = testenv.OperatorNamespace
)

var (
	names    = registration.Names{Namespace: ops, Service: service}
	plane    *testenv.ControlPlane
	admin    client.Client
	operator *rest.Config

	// logged is all that was logged.
	logged = &buffer{}

	// started is called by tests that need a control plane, with the operator's manifests.
	started = sync.OnceValue(start)
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.WriteTo(io.MultiWriter(os.Stderr, logged)), zap.UseDevMode(true)))
	m.Run()
	if plane != nil {
		if err := plane.Stop(); err != nil {
			panic(err)
		}
	}
}

func start() (err error) {
	if plane, err = testenv.Start(testenv.Options{WithControllers: true}); err != nil {
		return err
	}
	if err := testenv.InstallOperator(plane); err != nil {
		return err
	}
	if admin, err = client.New(plane.Config, client.Options{}); err != nil {
		return err
	}
	operator, err = plane.User(testenv.OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+ops, "system:authenticated")
	return err
}

// cluster is the control plane with a reader, as one test sees it.
type cluster struct {
	*testing.T
	*reader
	// ahead is how far the operator's clock is ahead of the real one, and looks how often it was looked at.
	ahead, looks atomic.Int64
	stop         func()
	began        time.Time
}

// Now implements clock.PassiveClock.
func (c *cluster) Now() time.Time {
	c.looks.Add(1)
	return c.time()
}

// time is the operator's time. Real time is a part of it: on a busy machine, more passes than a test skips.
func (c *cluster) time() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// settle waits until the operator has decided several times, and so carried the first of these decisions out.
func (c *cluster) settle() {
	c.Helper()
	for i := range 4 {
		before := c.looks.Load()
		patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"nudge":"%d %d"}}}`, i, before)
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: service}}
		c.must(admin.Patch(c.Context(), s, client.RawPatch(types.MergePatchType, patch)))
		c.eventually("the operator decides", func() bool { return c.looks.Load() > before })
	}
}

// Since implements clock.PassiveClock.
func (c *cluster) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// skip has time pass for the operator.
func (c *cluster) skip(d time.Duration) { c.ahead.Add(int64(d)) }

// pass has time pass for the operator, after it has seen what is, and before it decides again.
func (c *cluster) pass(d time.Duration) {
	c.Helper()
	c.settle()
	c.skip(d)
	c.settle()
}

// newCluster has a Service in front of a reader that answers, and nothing else.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, stop: func() {}, began: time.Now().Add(-time.Second)}
	c.must(started())
	c.reader = newReader(c)
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: service}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}
	d.Spec.Template.Labels = d.Spec.Selector.MatchLabels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "views", Image: "views"}}
	for _, o := range []client.Object{c.externalName(), d} {
		c.must(admin.Create(t.Context(), o))
		t.Cleanup(func() { c.remove(o) })
	}
	t.Cleanup(func() {
		c.stop()
		c.remove(registration.NewAPIService())
		c.remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: names.Secret()}})
	})
	return c
}

// externalName is a Service that leads to the reader on this machine. An IPv4 address is a valid name, and API servers connect to it.
func (c *cluster) externalName() *corev1.Service {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: ops, Name: service}}
	s.Spec.Type, s.Spec.ExternalName = corev1.ServiceTypeExternalName, loopback.Host()
	s.Spec.Ports = []corev1.ServicePort{{Name: "https", Port: int32(c.port)}}
	return s
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) remove(o client.Object) {
	if err := client.IgnoreNotFound(admin.Delete(context.Background(), o)); err != nil {
		c.Error(err)
	}
	c.eventually("it is gone", func() bool { return admin.Get(context.Background(), client.ObjectKeyFromObject(o), o) != nil })
}

// eventually waits until something holds, and returns how long that took.
func (c *cluster) eventually(what string, holds func() bool) time.Duration {
	c.Helper()
	begin := time.Now()
	ticker := time.NewTicker(25 * time.Millisecond)
	defer ticker.Stop()
	for !holds() {
		if time.Since(begin) > 2*time.Minute {
			c.Fatalf("not within two minutes: %s", what)
		}
		<-ticker.C
	}
	return time.Since(begin)
}

// start starts an operator that leads; it stops the one before.
func (c *cluster) start(change ...func(*registration.Options)) {
	c.Helper()
	c.stop()
	o := registration.Options{Names: names, Enabled: true, UnreachableAfter: time.Minute, Clock: c}
	for _, f := range change {
		f(&o)
	}
	yes := true
	mgr, err := ctrl.NewManager(operator, ctrl.Options{
		Scheme: clientgoscheme.Scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: &yes},
	})
	c.must(err)
	c.must(registration.Register(mgr, o))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	c.stop = func() {
		cancel()
		if err := <-ended; err != nil {
			c.Errorf("the operator ended with %v", err)
		}
		c.stop = func() {}
	}
}

// registered returns the APIService; nil if there is none.
func (c *cluster) registered() *unstructured.Unstructured {
	u := registration.NewAPIService()
	if err := admin.Get(context.Background(), client.ObjectKeyFromObject(u), u); err != nil {
		return nil
	}
	return u
}

func (c *cluster) available() bool {
	u := c.registered()
	return u != nil && strings.HasPrefix(availability(u), "True")
}

// answers reports whether the API answers. What proxies to it may know later than the APIService shows that it is available.
func (c *cluster) answers() bool { return c.available() && c.ask() == nil }

// availability is the condition of an APIService.
func availability(u *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	for _, in := range conditions {
		if condition := in.(map[string]any); condition["type"] == "Available" {
			return fmt.Sprintf("%v %v %v", condition["status"], condition["reason"], condition["message"])
		}
	}
	return "none"
}

func (c *cluster) secret() *corev1.Secret {
	s := &corev1.Secret{}
	if err := admin.Get(context.Background(), client.ObjectKey{Namespace: ops, Name: names.Secret()}, s); err != nil {
		return nil
	}
	return s
}

// change patches the Secret.
func (c *cluster) change(do func(*corev1.Secret)) {
	c.Helper()
	s := c.secret()
	before := s.DeepCopy()
	do(s)
	c.must(admin.Patch(c.Context(), s, client.MergeFrom(before)))
}

// eventOf reports whether there is an event with a reason and an action on the Deployment, since the test began.
func (c *cluster) eventOf(reason, action string) func() bool {
	return func() bool {
		var all eventsv1.EventList
		c.must(admin.List(context.Background(), &all, client.InNamespace(ops)))
		for _, e := range all.Items {
			if e.Reason == reason && e.Action == action && e.Regarding.Kind == "Deployment" && e.Regarding.Name == service && e.Regarding.UID != "" &&
				e.EventTime.After(c.began) {
				return true
			}
		}
		return false
	}
}

// metric is the value of platform_operator_views_registered; empty if it has none.
func (c *cluster) metric() string {
	families, err := metrics.Registry.Gather()
	c.must(err)
	for _, f := range families {
		if f.GetName() == "platform_operator_views_registered" {
			return fmt.Sprint(f.GetMetric()[0].GetGauge().GetValue())
		}
	}
	return ""
}
