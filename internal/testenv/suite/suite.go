// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package suite is what Ginkgo suites share that run against a control plane: how they are set up, and the words that
// their specs have in common. It is imported with a dot, as Ginkgo and Gomega are. It knows no kind: see kindtest.
package suite

import (
	"runtime/debug"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

const (
	// patience is how long specs wait for something to happen. No spec takes longer for it unless it fails. On a busy machine
	// kube-controller-manager may need more than a minute to delete a Namespace with everything in it.
	patience = 2 * time.Minute
	// aMoment is how long specs look whether something does not happen.
	aMoment = 500 * time.Millisecond
	// poll is how often specs look.
	poll = 50 * time.Millisecond
)

// What specs work with. It is there from Setup.Prepare on.
var (
	// Plane is the control plane.
	Plane *testenv.ControlPlane
	// Admin is the client of a cluster administrator, without a cache.
	Admin client.Client
	// Warned is what the API server has warned Admin of.
	Warned *testenv.Warnings

	scheme *runtime.Scheme
	suite  Setup
)

// Setup says what a suite runs against.
type Setup struct {
	// Options are those of the control plane.
	testenv.Options
	// Scheme is what clients know.
	Scheme *runtime.Scheme
	// Installed has what config/install holds.
	Installed bool
	// Log takes what the operator logs. Without one that goes nowhere.
	Log logr.Logger
	// Prepare is called for each control plane, before its first spec. Optional.
	Prepare func()
}

// Run runs the specs of a package.
func (s Setup) Run(t *testing.T, name string) {
	gomega.RegisterFailHandler(ginkgo.Fail)
	gomega.SetDefaultEventuallyTimeout(patience)
	gomega.SetDefaultEventuallyPollingInterval(poll)
	gomega.SetDefaultConsistentlyDuration(aMoment)
	gomega.SetDefaultConsistentlyPollingInterval(poll)
	ginkgo.BeforeSuite(s.start)
	ginkgo.RunSpecs(t, name, limit.Of(t))
}

func (s Setup) start() {
	debug.SetGCPercent(testenv.GCPercent)
	logf.SetLogger(s.Log)
	if s.Installed {
		// Before the controllers start: those of quotas find new types every 30 s only.
		s.CRDs = append(s.CRDs, testenv.RepoFile("config", "crd", "bases"))
	}
	suite, scheme = s, s.Scheme
	newPlane()
}

// OwnPlane gives a spec that calls it in BeforeEach a control plane of its own, set up as that of the
// suite. What the spec leaves there ends with it: to delete much takes Kubernetes as long as to create it.
func OwnPlane() {
	ginkgo.GinkgoHelper()
	plane, admin, warned := Plane, Admin, Warned
	ginkgo.DeferCleanup(func() { Plane, Admin, Warned = plane, admin, warned })
	newPlane()
}

// newPlane starts a control plane, which runs until the present node's cleanup.
func newPlane() {
	ginkgo.GinkgoHelper()
	plane, err := testenv.Start(suite.Options)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(func() { gomega.Expect(plane.Stop()).To(gomega.Succeed()) })
	if Plane = plane; suite.Installed { // the CRDs are there
		gomega.Expect(testenv.InstallOperator(Plane)).To(gomega.Succeed())
	}
	config := rest.CopyConfig(Plane.Config)
	Warned = &testenv.Warnings{}
	config.WarningHandlerWithContext = Warned
	Admin, err = client.New(config, client.Options{Scheme: scheme})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	if suite.Prepare != nil {
		suite.Prepare()
	}
}

// ClientOf is the client of a user with that access, also of those who may not ask which kinds there are.
func ClientOf(config *rest.Config) client.Client {
	ginkgo.GinkgoHelper()
	c, err := client.New(config, client.Options{Scheme: scheme, Mapper: Admin.RESTMapper()})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return c
}

// User is the client of a user, who may do what RBAC says.
func User(name string, groups ...string) client.Client {
	ginkgo.GinkgoHelper()
	config, err := Plane.User(name, groups...)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return ClientOf(config)
}
