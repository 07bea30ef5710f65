// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

const mark = "autoreboot.acme.com/rebootpolicy."

var ctx = context.Background()

// leaked is what the operator has logged of what no log may hold.
var leaked atomic.Pointer[string]

func TestController(t *testing.T) {
	log := funcr.New(func(prefix, args string) {
		if line := prefix + args; strings.Contains(line, "canary") {
			leaked.Store(&line)
		}
	}, funcr.Options{Verbosity: 5}) // from 8 on client-go logs whole answers
	OfKinds(Setup{Options: testenv.Options{WithControllers: true}, Log: log}).Run(t, "RebootPolicy")
}

// databases stand for databases, one for each host.
type databases struct {
	mu      sync.Mutex
	answers map[string]func(context.Context) (sqldb.Value, error)
	reads   map[string]int
	last    map[string]sqldb.Source
	watches map[string]sqldb.Watch
}

func newDatabases() *databases {
	return &databases{
		answers: map[string]func(context.Context) (sqldb.Value, error){}, reads: map[string]int{},
		last: map[string]sqldb.Source{}, watches: map[string]sqldb.Watch{},
	}
}

// Read implements sqldb.Reader.
func (d *databases) Read(ctx context.Context, s sqldb.Source, w sqldb.Watch) (sqldb.Value, error) {
	d.mu.Lock()
	answer, ok := d.answers[s.Host]
	if !ok { // a policy that another container left
		answer = func(context.Context) (sqldb.Value, error) {
			return sqldb.Value{}, &sqldb.Error{Reason: sqldb.Unreachable, Message: "there is no such database"}
		}
	}
	d.last[s.Host], d.watches[s.Host] = s, w
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.reads[s.Host]++
	}()
	return answer(ctx)
}

func (d *databases) answer(host string, f func(context.Context) (sqldb.Value, error)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.answers[host] = f
}

// holds has a database hold a text.
func (d *databases) holds(host, text string) {
	d.gives(host, sqldb.Value{Kind: sqldb.KindText, Text: text})
}

func (d *databases) gives(host string, v sqldb.Value) {
	d.answer(host, func(context.Context) (sqldb.Value, error) { return v, nil })
}

// fails has a database refuse.
func (d *databases) fails(host string, reason sqldb.Reason) {
	d.answer(host, func(context.Context) (sqldb.Value, error) {
		return sqldb.Value{}, &sqldb.Error{Reason: reason, Message: "it is so"}
	})
}

// hangs has a database answer nobody until the function is called.
func (d *databases) hangs(host string) (release func()) {
	released := make(chan struct{})
	d.answer(host, func(ctx context.Context) (sqldb.Value, error) {
		select {
		case <-released:
		case <-ctx.Done():
		}
		return sqldb.Value{}, &sqldb.Error{Reason: sqldb.Unreachable, Message: "no answer in time"}
	})
	return sync.OnceFunc(func() { close(released) })
}

func (d *databases) readsOf(host string) func() int {
	return func() int {
		d.mu.Lock()
		defer d.mu.Unlock()
		return d.reads[host]
	}
}

func (d *databases) asked(host string) (sqldb.Source, sqldb.Watch) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last[host], d.watches[host]
}

// world is what the specs of an ordered container share: the operator, its clock, and the databases.
type world struct {
	*databases
	operator *Operator
	clock    *clocktesting.FakePassiveClock
}

func newWorld(with ...func(*operator.Options)) *world {
	w := &world{databases: newDatabases(), clock: clocktesting.NewFakePassiveClock(time.Now())}
	w.operator = StartOperator(append(with, func(o *operator.Options) { o.Values, o.Clock = w, w.clock })...)
	return w
}

// hostOf is the host that a policy reads from.
func hostOf(p *v1alpha1.RebootPolicy) string {
	if ref := p.Spec.Source.DatabaseRef; ref != nil {
		return names.DatabaseHost(p.Namespace, ref.Name)
	}
	return p.Spec.Source.Host
}

// polled lets time pass until a policy's value has been read once more.
func (w *world) polled(p *v1alpha1.RebootPolicy) {
	GinkgoHelper()
	before := w.readsOf(hostOf(p))()
	w.clock.SetTime(w.clock.Now().Add(2 * p.EffectiveInterval()))
	rerun(p)
	Eventually(w.readsOf(hostOf(p))).Should(BeNumerically(">", before))
}

// namespaceWithSecret makes a namespace of the spec's own, with the Secret "db".
func namespaceWithSecret() string {
	GinkgoHelper()
	ns := Namespace()
	Create(credentials(ns, "the-password"))
	return ns
}

func credentials(ns, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"},
		StringData: map[string]string{"username": "app", "password": password},
	}
}

// template is a pod template for the label app.
func template(app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "example.com/app"}}},
	}
}

func deployment(ns, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, Template: template(name),
	}}
}

func at(d time.Duration) *metav1.Duration { return &metav1.Duration{Duration: d} }

// policy is a RebootPolicy of the database on the host that is called like the namespace, for the
// Deployment web, without debounce.
func policy(ns, name string, with ...func(*v1alpha1.RebootPolicySpec)) *v1alpha1.RebootPolicy {
	p := &v1alpha1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	p.Spec = v1alpha1.RebootPolicySpec{
		Source: v1alpha1.DatabaseSource{
			Type: v1alpha1.DatabasePostgres, Host: ns, Database: "app",
			CredentialsSecretRef: v1alpha1.CredentialsReference{Name: "db"},
		},
		Watch:    v1alpha1.Watch{Table: "settings", Column: "value"},
		Interval: at(time.Hour),
		Target:   &v1alpha1.Target{Kind: "Deployment", Name: "web"},
		Restart:  common.RestartPolicy{Debounce: at(0), MaxPerHour: 60},
	}
	for _, f := range with {
		f(&p.Spec)
	}
	return p
}

// watching creates a RebootPolicy and waits until it has its baseline.
func watching(p *v1alpha1.RebootPolicy) *v1alpha1.RebootPolicy {
	GinkgoHelper()
	AwaitReady(Create(p))
	Expect(p.Status.Observed).To(HaveLen(1))
	Expect(p.Status.Restarts).To(BeZero())
	return p
}

// restarts gives how many restarts a RebootPolicy has completed.
func restarts(p *v1alpha1.RebootPolicy) func() int64 {
	return func() int64 {
		Expect(Reload(p)).To(Succeed())
		if p.Status.Pending != nil {
			return -1
		}
		return p.Status.Restarts
	}
}

// marks are the annotations on a Deployment's pod template that restarts have set.
func marks(d *appsv1.Deployment) map[string]string {
	GinkgoHelper()
	Expect(Reload(d)).To(Succeed())
	all := maps.Clone(d.Spec.Template.Annotations)
	maps.DeleteFunc(all, func(k, _ string) bool { return !strings.HasPrefix(k, mark) })
	return all
}

// templates counts the versions of a Deployment's spec, the first one included: each restart is one more.
func templates(d *appsv1.Deployment) int64 {
	GinkgoHelper()
	Expect(Reload(d)).To(Succeed())
	return d.Generation
}

// rerun makes the operator run a RebootPolicy, by a change of its spec that means nothing, and waits until it has.
func rerun(p *v1alpha1.RebootPolicy) {
	GinkgoHelper()
	Change(p, func(p *v1alpha1.RebootPolicy) {
		p.Spec.Restart.MinInterval = at(time.Duration(p.Generation) * time.Millisecond)
	})
	AwaitRun(p)
}

// everything is all that others may see of the operator's doings in a namespace.
func everything(p *v1alpha1.RebootPolicy, d *appsv1.Deployment) string {
	GinkgoHelper()
	Expect(Reload(p)).To(Succeed())
	Expect(Reload(d)).To(Succeed())
	return fmt.Sprint(p, d, EventsOf(p)(), EventsOf(d)())
}
