// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
)

// patience bounds every wait. It only ends what hangs.
const patience = 2 * time.Minute

// shared is the control plane of all tests that change nothing but objects of their own, by name, and that stop their operator.
var shared struct {
	once  sync.Once
	plane *testenv.ControlPlane
	err   error
}

func TestMain(m *testing.M) {
	ctrl.SetLogger(zap.New(zap.WriteTo(&logged))) // at once: after half a minute without a logger nothing is logged any more
	code := m.Run()
	if shared.plane != nil {
		if err := shared.plane.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code) //nolint:forbidigo // That is how a TestMain ends.
}

// world is a control plane, as a test sees it.
type world struct {
	*testing.T
	plane *testenv.ControlPlane
	admin client.Client
	user  *rest.Config
}

// newWorld is the shared control plane, with the operator's manifests.
func newWorld(t *testing.T) *world {
	t.Helper()
	shared.once.Do(func() {
		if shared.plane, shared.err = testenv.Start(testenv.Options{}); shared.err == nil {
			shared.err = testenv.InstallConfig(shared.plane)
		}
	})
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	return worldOf(t, shared.plane)
}

// emptyWorld is a control plane of the test's own in which nothing is installed.
func emptyWorld(t *testing.T) *world {
	t.Helper()
	plane, err := testenv.Start(testenv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := plane.Stop(); err != nil {
			t.Error(err)
		}
	})
	return worldOf(t, plane)
}

func worldOf(t *testing.T, plane *testenv.ControlPlane) *world {
	t.Helper()
	admin, err := client.New(plane.Config, client.Options{Scheme: operator.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	groups := []string{"system:serviceaccounts", "system:serviceaccounts:" + testenv.OperatorNamespace, "system:authenticated"}
	user, err := plane.User(testenv.OperatorUser, groups...)
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, plane: plane, admin: admin, user: user}
}

// in is the world as a subtest sees it.
func (w world) in(t *testing.T) *world {
	w.T = t
	return &w
}

// must does something that has to work.
func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// eventually waits until something holds.
func (w *world) eventually(what string, holds func() bool) {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			w.Fatalf("not within %s: %s", patience, what)
		case <-tick.C:
		}
	}
}

// background runs an operator until stop is called, or else until the test ends. It must end without an error, and not before.
func (w *world) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		w.Helper()
		select {
		case err := <-ended:
			w.Errorf("it ended too early: %v", err)
			return
		default:
		}
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				w.Errorf("it ended with %v", err)
			}
		case <-time.After(patience):
			w.Errorf("it did not stop within %s", patience)
		}
	})
	w.Cleanup(stop)
	return stop
}
