// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var scheme = runtime.NewScheme()

func TestEngine(t *testing.T) {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	addToScheme(scheme)
	Setup{Options: testenv.Options{CRDs: []string{"testdata"}}, Scheme: scheme}.Run(t, "engine")
}

// script is a kind whose steps a spec gives.
type script[T engine.Object] func(engine.Scope[T]) []engine.Step

func (k script[T]) Steps(s engine.Scope[T]) []engine.Step { return k(s) }

// finalizing is a script with another one for deletion.
type finalizing[T engine.Object] struct {
	script[T]
	end script[T]
}

func (k finalizing[T]) Finalize(s engine.Scope[T]) []engine.Step { return k.end(s) }

// lever is a step that a spec steers.
type lever struct {
	mu   sync.Mutex
	name string
	out  engine.Outcome
	err  error
	runs int
}

func (l *lever) set(out engine.Outcome, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.out, l.err = out, err
}

func (l *lever) step() engine.Step {
	return engine.Step{Condition: l.name, Run: func(context.Context) (engine.Outcome, error) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.runs++
		return l.out, l.err
	}}
}

// Runs is how often the step has run.
func (l *lever) Runs() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.runs
}

// levers makes steps that are done, one for each name, and the kind that consists of them.
func levers(names ...string) ([]*lever, script[*Widget]) {
	var all []*lever
	for _, name := range names {
		all = append(all, &lever{name: name, out: engine.Done()})
	}
	return all, func(engine.Scope[*Widget]) []engine.Step {
		var steps []engine.Step
		for _, l := range all {
			steps = append(steps, l.step())
		}
		return steps
	}
}

// registration adds a kind to a manager.
type registration func(ctrl.Manager) error

func widgets(kind engine.Kind[*Widget], cfg engine.Config[*Widget]) registration {
	cfg.Name, cfg.Finalizer = "widget", "widget.test.acme.com/finalizer"
	return func(mgr ctrl.Manager) error { return engine.Register(mgr, &Widget{}, cfg, kind) }
}

func gadgets(kind engine.Kind[*Gadget], cfg engine.Config[*Gadget]) registration {
	cfg.Name, cfg.ByMark = "gadget", true
	cfg.Places = func(g *Gadget) []string { return []string{cmp.Or(g.Spec.Value, g.Name)} }
	cfg.Proves = func(_ *Gadget, o client.Object) bool { return slices.Contains([]string{"q", "old", "r"}, o.GetName()) }
	return func(mgr ctrl.Manager) error { return engine.Register(mgr, &Gadget{}, cfg, kind) }
}

// running is a manager that runs.
type running struct {
	*wire
	stop func()
}

// start runs a manager until it is stopped or the spec ends.
func start(register registration, change ...func(*ctrl.Options)) *running {
	GinkgoHelper()
	r := &running{wire: &wire{}}
	cfg := rest.CopyConfig(Plane.Config)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { r.next = next; return r.wire })
	cfg.Wrap(engine.CountRequests)
	options := ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true)},
		Client:     client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: new(true)}},
	}
	for _, f := range change {
		f(&options)
	}
	mgr, err := ctrl.NewManager(cfg, options)
	Expect(err).NotTo(HaveOccurred())
	Expect(register(mgr)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
	})
	DeferCleanup(func() { r.stop() })
	return r
}

// widget makes a Widget that goes with the spec.
func widget(change ...func(*Widget)) *Widget {
	GinkgoHelper()
	w := &Widget{ObjectMeta: metav1.ObjectMeta{Name: "w", Namespace: Namespace()}}
	for _, f := range change {
		f(w)
	}
	return made(w)
}

// made creates an object and deletes it, whatever its finalizers, when the spec ends.
func made[O client.Object](o O) O {
	GinkgoHelper()
	Create(o)
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(Admin.Delete(ctx, o))).To(Succeed())
		patch := client.RawPatch(client.Merge.Type(), []byte(`{"metadata":{"finalizers":null}}`))
		Expect(client.IgnoreNotFound(Admin.Patch(ctx, o, patch))).To(Succeed())
	})
	return o
}

// conditions gives a function that reads an object's conditions as "Type=Status Reason: message".
func conditions(o engine.Object) func() []string {
	return func() []string {
		if err := Reload(o); err != nil {
			return []string{err.Error()}
		}
		var lines []string
		for _, c := range o.CommonStatus().Conditions {
			lines = append(lines, strings.TrimSuffix(fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message), ": "))
		}
		return lines
	}
}
