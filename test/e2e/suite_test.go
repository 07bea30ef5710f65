// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package e2e shows the operator on a real cluster: a real node, OLM running as pods, a tenant who installs the
// operator, users who work with it, upgrades under a writer, a version that fails, and the way out. `make e2e` runs it,
// as root on Linux. README.md says how it is built and how a kind adds its part.
package e2e

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/acme/platform-operator/internal/testenv/limit"
)

const (
	// runVariable, when it is 1, runs the tests. They take minutes, need root, and a machine has one real node.
	runVariable = "PLATFORM_E2E"
	// keepVariable, when it is 1, leaves the cluster running at the end, to look inside.
	keepVariable = "PLATFORM_E2E_KEEP"
)

// Timeouts bound what is awaited. They are generous: a slow machine is no failure, and what is slow is printed.
const (
	soon      = 2 * time.Minute // what takes seconds
	installed = 6 * time.Minute // what OLM does: unpack, install, wait for pods
	poll      = 250 * time.Millisecond
)

func TestEndToEnd(t *testing.T) {
	if os.Getenv(runVariable) != "1" || os.Geteuid() != 0 {
		t.Skipf("runs as root with %s=1: make e2e", runVariable)
	}
	ctrl.SetLogger(GinkgoLogr)
	RegisterFailHandler(Fail)
	SetDefaultEventuallyTimeout(soon)
	SetDefaultEventuallyPollingInterval(poll)
	RunSpecs(t, "End to end", limit.Of(t))
	for _, failure := range failures {
		t.Log(failure)
	}
}

// failures are what failed and why. They are printed once more at the very end: what a spec prints when it fails is long.
var failures []string

// lab is the cluster that all specs share.
var lab *world

var _ = BeforeSuite(func(ctx SpecContext) {
	lab = newWorld(ctx)
}, NodeTimeout(30*time.Minute))

var _ = AfterSuite(func(ctx SpecContext) {
	if os.Getenv(keepVariable) == "1" {
		say("left running: go run ./hack/cluster down --name %s", clusterName)
		return
	}
	start := time.Now()
	Expect(takeDown(ctx)).To(Succeed())
	say("the cluster is gone, after %s", since(start))
}, NodeTimeout(5*time.Minute))

var _ = ReportAfterEach(func(ctx SpecContext, report SpecReport) {
	if !report.Failed() {
		return
	}
	failures = append(failures, fmt.Sprintf("%s: %s\n%s", report.FullText(), report.FailureLocation(), last(report.FailureMessage(), 2000)))
	if lab != nil {
		lab.diagnose(ctx)
	}
})

// say prints what a person wants to see.
func say(format string, values ...any) { By(fmt.Sprintf(format, values...)) }

func since(start time.Time) time.Duration { return time.Since(start).Round(100 * time.Millisecond) }

// eventually asserts that a condition comes true.
func eventually(ctx context.Context, what string, within time.Duration, condition func(g Gomega)) {
	GinkgoHelper()
	Eventually(ctx, condition).WithTimeout(within).Should(Succeed(), what)
}
