/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package rebootpolicy_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
)

const mark = "autoreboot.acme.com/rebootpolicy."

var (
	plane *testenv.ControlPlane
	admin client.Client // a cluster administrator's, not cached
	ctx   = context.Background()
)

func TestController(t *testing.T) {
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(time.Minute)
	SetDefaultEventuallyPollingInterval(20 * time.Millisecond)
	RunSpecs(t, "RebootPolicy")
}

var _ = BeforeSuite(func() {
	logf.SetLogger(logr.Discard())
	var err error
	plane, err = testenv.Start(testenv.Options{WithControllers: true})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { Expect(plane.Stop()).To(Succeed()) })
	Expect(testenv.InstallConfig(plane)).To(Succeed())
	admin, err = client.New(plane.Config, client.Options{Scheme: operator.Scheme()})
	Expect(err).NotTo(HaveOccurred())
})

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
	operator *testenv.Operator
	clock    *clocktesting.FakePassiveClock
}

func newWorld() *world {
	w := &world{databases: newDatabases(), clock: clocktesting.NewFakePassiveClock(time.Now())}
	w.operator = testenv.StartOperator(GinkgoT(), plane, func(o *operator.Options) { o.Values, o.Clock = w, w.clock })
	return w
}

// polled lets time pass until a policy's value has been read once more.
func (w *world) polled(p *v1alpha1.RebootPolicy) {
	GinkgoHelper()
	before := w.readsOf(p.Spec.Source.Host)()
	w.clock.SetTime(w.clock.Now().Add(2 * p.EffectiveInterval()))
	poke(p)
	Eventually(w.readsOf(p.Spec.Source.Host)).Should(BeNumerically(">", before))
}

// namespace makes a namespace of the spec's own, with the Secret "db".
func namespace() string {
	GinkgoHelper()
	ns := create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-"}})
	create(credentials(ns.Name, "the-password"))
	return ns.Name
}

func credentials(ns, password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"},
		StringData: map[string]string{"username": "app", "password": password},
	}
}

func create[T client.Object](o T) T {
	GinkgoHelper()
	Expect(admin.Create(ctx, o)).To(Succeed())
	return o
}

func reload(o client.Object) error { return admin.Get(ctx, client.ObjectKeyFromObject(o), o) }

// change changes an object of the cluster, whoever else changes it meanwhile.
func change[T client.Object](o T, do func(T)) {
	GinkgoHelper()
	Eventually(func() error {
		if err := reload(o); err != nil {
			return err
		}
		do(o)
		return admin.Update(ctx, o)
	}).Should(Succeed())
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
	create(p)
	Eventually(ready(p)).Should(Equal("True Ready"))
	Expect(p.Status.Observed).To(HaveLen(1))
	Expect(p.Status.Restarts).To(BeZero())
	return p
}

// ready gives status and reason of the condition Ready, once it speaks of the latest version of the spec.
func ready(p *v1alpha1.RebootPolicy) func() string { return condition(p, "Ready") }

func condition(p *v1alpha1.RebootPolicy, name string) func() string {
	return func() string {
		if err := reload(p); err != nil {
			return err.Error()
		}
		c := meta.FindStatusCondition(p.Status.Conditions, name)
		switch {
		case c == nil:
			return "none"
		case c.ObservedGeneration != p.Generation:
			return "of an older version"
		default:
			return string(c.Status) + " " + c.Reason
		}
	}
}

func message(p *v1alpha1.RebootPolicy, name string) string {
	GinkgoHelper()
	c := meta.FindStatusCondition(p.Status.Conditions, name)
	Expect(c).NotTo(BeNil())
	return c.Message
}

// restarts gives how many restarts a RebootPolicy has completed.
func restarts(p *v1alpha1.RebootPolicy) func() int64 {
	return func() int64 {
		Expect(reload(p)).To(Succeed())
		if p.Status.Pending != nil {
			return -1
		}
		return p.Status.Restarts
	}
}

// marks are the annotations on a Deployment's pod template that restarts have set.
func marks(d *appsv1.Deployment) map[string]string {
	GinkgoHelper()
	Expect(reload(d)).To(Succeed())
	all := maps.Clone(d.Spec.Template.Annotations)
	maps.DeleteFunc(all, func(k, _ string) bool { return !strings.HasPrefix(k, mark) })
	return all
}

// templates counts the versions of a Deployment's spec, the first one included: each restart is one more.
func templates(d *appsv1.Deployment) int64 {
	GinkgoHelper()
	Expect(reload(d)).To(Succeed())
	return d.Generation
}

// eventsOf lists reason and note of the events about an object.
func eventsOf(o client.Object) func() []string {
	return func() []string {
		list := &eventsv1.EventList{}
		Expect(admin.List(ctx, list, client.InNamespace(o.GetNamespace()))).To(Succeed())
		var all []string
		for _, e := range list.Items {
			if e.Regarding.UID == o.GetUID() {
				all = append(all, e.Reason+": "+e.Note)
			}
		}
		return all
	}
}

// poke makes the operator run a RebootPolicy, which changes nothing that it acts on, and waits until that
// run is over: a condition tells it, because the spec has another generation.
func poke(p *v1alpha1.RebootPolicy) {
	GinkgoHelper()
	change(p, func(p *v1alpha1.RebootPolicy) {
		p.Spec.Restart.MinInterval = at(time.Duration(p.Generation) * time.Nanosecond)
	})
	Eventually(func() bool {
		Expect(reload(p)).To(Succeed())
		return p.Status.ObservedGeneration == p.Generation
	}).Should(BeTrue())
}

// everything is all that others may see of the operator's doings in a namespace.
func everything(p *v1alpha1.RebootPolicy, d *appsv1.Deployment) string {
	GinkgoHelper()
	Expect(reload(p)).To(Succeed())
	Expect(reload(d)).To(Succeed())
	return fmt.Sprint(p, d, eventsOf(p)(), eventsOf(d)())
}

// counted is the value of the counter, or the number of observations of the histogram, of that name that has
// these values as labels.
func counted(name string, labels ...string) float64 {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		for _, m := range f.GetMetric() {
			has := map[string]bool{}
			for _, l := range m.GetLabel() {
				has[l.GetValue()] = true
			}
			missing := slices.ContainsFunc(labels, func(l string) bool { return !has[l] })
			if f.GetName() == name && !missing {
				return m.GetCounter().GetValue() + float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	return 0
}
