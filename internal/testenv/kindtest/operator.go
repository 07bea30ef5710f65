// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kindtest runs the operator in a test's own process, for the suites of kinds: it adds to testenv and to the words of
// testenv/suite what knows every kind. Suites import it with a dot.
package kindtest

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/operator/settings"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// operatorTimeout bounds the start and the stop of an operator. It only ends what hangs.
const operatorTimeout = 5 * time.Minute

// TB is what *testing.T and Ginkgo's GinkgoT() have in common.
type TB interface {
	Helper()
	Cleanup(func())
	Fatalf(format string, args ...any)
}

// Operator is the operator, run in the test's own process as the service account that it is deployed
// with: what the generated role does not grant, it cannot do.
type Operator struct {
	// Options are what it was started with. Changes count from the next Start.
	Options operator.Options
	// Wire is between it and the API server; it stays over restarts.
	Wire *testenv.Wire

	looks    looks
	t        TB
	plane    *testenv.ControlPlane
	config   *rest.Config
	webhooks *envtest.WebhookInstallOptions
	mgr      ctrl.Manager
	cancel   context.CancelFunc
	ended    chan struct{} // closed when it runs no more; err is valid then
	err      error
}

// Start starts the operator and waits until its caches are filled and its webhooks serve; it
// stops when the test ends. InstallConfig must have been called. Each function may change the options:
//
//   - ConfigFile names the configuration; by default there is none, and none is read from a ConfigMap.
//   - WebhookPort is -1 by default: no webhooks. With 0 or more they are served on loopback, with 0 on
//     an address of this process, and the configurations of config/webhook point there until the test ends, also while
//     the operator is stopped.
//   - LeaderElect is off by default. A replica that waits to lead counts as started.
//
// Neither metrics nor probes are served.
func Start(t TB, cp *testenv.ControlPlane, mutate ...func(*operator.Options)) *Operator {
	t.Helper()
	o := &Operator{
		t: t, plane: cp, Wire: &testenv.Wire{},
		Options: operator.Options{
			Namespace: testenv.OperatorNamespace, MetricsAddress: "0", ProbeAddress: "0", WebhookPort: -1,
		},
	}
	o.Options.Ran = o.looks.ran
	for _, m := range mutate {
		m(&o.Options)
	}
	config, err := cp.User(testenv.OperatorUser, "system:serviceaccounts", "system:serviceaccounts:"+testenv.OperatorNamespace)
	if err != nil {
		t.Fatalf("making the operator's user: %v", err)
	}
	config.Wrap(o.Wire.Wrap)
	o.config = config
	t.Cleanup(o.removeWebhooks)
	t.Cleanup(o.Stop)
	o.Start()
	return o
}

// Start starts an operator that was stopped.
func (o *Operator) Start() {
	o.t.Helper()
	if o.cancel != nil {
		o.t.Fatalf("the operator runs already")
	}
	if err := o.start(); err != nil {
		o.Stop()
		o.t.Fatalf("starting the operator: %v", err)
	}
}

// Restart stops the operator and starts it again.
func (o *Operator) Restart() {
	o.t.Helper()
	o.Stop()
	o.Start()
}

// Stop stops the operator and waits until nothing of it runs any more. One that is stopped stays so.
func (o *Operator) Stop() {
	o.t.Helper()
	if o.cancel == nil {
		return
	}
	o.cancel()
	o.cancel = nil
	select {
	case <-o.ended:
		if o.err != nil {
			o.t.Fatalf("the operator ended with an error: %v", o.err)
		}
	case <-time.After(operatorTimeout):
		o.t.Fatalf("the operator did not stop within %s", operatorTimeout)
	}
}

// Leads is closed once the operator leads.
func (o *Operator) Leads() <-chan struct{} { return o.mgr.Elected() }

func (o *Operator) start() error {
	if o.Options.WebhookPort >= 0 {
		if err := o.installWebhooks(); err != nil {
			return err
		}
	}
	mgr, err := o.newManager()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	o.mgr, o.cancel, o.ended = mgr, cancel, make(chan struct{})
	go func() {
		o.err = mgr.Start(ctx)
		cancel()
		close(o.ended)
	}()
	return o.await(ctx)
}

func (o *Operator) newManager() (ctrl.Manager, error) {
	reader, err := client.New(o.config, client.Options{})
	if err != nil {
		return nil, err
	}
	source, err := settings.Load(context.Background(), reader, o.Options.ConfigFile, "")
	if err != nil {
		return nil, err
	}
	return operator.NewManager(o.config, source.Config, o.Options)
}

// await waits until the operator does its work. The context ends with the operator.
func (o *Operator) await(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	if !o.mgr.GetCache().WaitForCacheSync(ctx) {
		return errors.New("its caches were not filled in time, or it ended")
	}
	if !o.Options.LeaderElect {
		select {
		case <-o.Leads():
		case <-ctx.Done():
			return errors.New("its controllers did not start in time, or it ended")
		}
	}
	if o.Options.WebhookPort < 0 {
		return nil
	}
	serves := o.mgr.GetWebhookServer().StartedChecker()
	return wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true,
		func(context.Context) (bool, error) { return serves(nil) == nil, nil })
}

// installWebhooks makes certificates, chooses an address, and points the webhook configurations there.
func (o *Operator) installWebhooks() error {
	if o.webhooks == nil {
		o.webhooks = &envtest.WebhookInstallOptions{
			Paths:            []string{testenv.RepoFile("config", "webhook", "manifests.yaml")},
			LocalServingHost: loopback.Host(),
			LocalServingPort: cmp.Or(o.Options.WebhookPort, loopback.Port()),
		}
	}
	if err := o.webhooks.Install(o.plane.Config); err != nil {
		return err
	}
	o.Options.WebhookHost = o.webhooks.LocalServingHost
	o.Options.WebhookPort = o.webhooks.LocalServingPort
	o.Options.WebhookCertDir = o.webhooks.LocalServingCertDir
	return nil
}

// removeWebhooks removes the webhook configurations and the certificates.
func (o *Operator) removeWebhooks() {
	if o.webhooks == nil {
		return
	}
	cl, err := client.New(o.plane.Config, client.Options{})
	for _, w := range o.webhooks.MutatingWebhooks {
		err = errors.Join(err, client.IgnoreNotFound(cl.Delete(context.Background(), w)))
	}
	for _, w := range o.webhooks.ValidatingWebhooks {
		err = errors.Join(err, client.IgnoreNotFound(cl.Delete(context.Background(), w)))
	}
	if err := errors.Join(err, o.webhooks.Cleanup()); err != nil {
		o.t.Fatalf("removing the webhooks: %v", err)
	}
}

// ConfigFile writes a configuration to a file that Options.ConfigFile may name.
func ConfigFile(t interface {
	TB
	TempDir() string
}, text string,
) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatalf("writing the configuration: %v", err)
	}
	return file
}
