// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package guarantees checks what every kind guarantees, for every row of operator.Kinds: the operator
// runs under its generated role against a real etcd, kube-apiserver and kube-controller-manager.
//
// A guarantee alone: go test ./test/guarantees --ginkgo.label-filter=G4; a kind alone: the same with
// the kind's name.
package guarantees

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var (
	dyn  *dynamic.DynamicClient
	logs logBuffer // what the operator logs, at the most verbose level
)

func TestGuarantees(t *testing.T) {
	OfKinds(Setup{
		Options: testenv.Options{WithControllers: true},
		Log:     zap.New(zap.WriteTo(&logs), zap.Level(zapcore.Level(-operator.MaxVerbosity))),
		Prepare: prepare,
	}).Run(t, "guarantees")
}

func prepare() {
	var err error
	dyn, err = dynamic.NewForConfig(Plane.Config)
	Expect(err).NotTo(HaveOccurred())
	discoverResources()
	for _, f := range fixtures {
		f.Start()
	}
}

// One container, so that specs run in this order: Ginkgo shuffles containers at the top.
var _ = Describe("Guarantees", func() {
	var all []*kind
	for _, row := range operator.Kinds {
		if k := newKind(row); k.fixture != nil { // TestEveryKindHasAFixture reports one that has none
			all = append(all, k)
		}
	}
	describeComplete(all)
	describeOmissions(all)
	describeSteady(all)
	describeMemory(all)
	describeBounded(all)
	describePoison(all)
	for _, k := range all {
		Describe(k.name, Label(k.name), func() {
			describeLevels(k)
			describeCrashes(k)
			describeDrift(k)
			describeFinalizers(k)
			describeAbsence(k)
			describeSecrecy(k)
			describeOthers(k)
			describeScaled(k)
			describeHostile(k)
			describeTruth(k)
			describeNeighbours(k)
		})
	}
})

// start runs the operator with the configurations of all kinds until the spec ends.
func start(mutate ...func(*operator.Options)) *Operator {
	GinkgoHelper()
	return startWith(configuration(), mutate...)
}

// configuration has the sections of all kinds. The outside systems answer well from then on.
func configuration() string {
	answerAll(http.StatusOK)
	var sections []string
	for _, name := range sortedKeys(fixtures) {
		sections = append(sections, fixtures[name].Configuration())
	}
	return strings.Join(sections, "")
}

func startWith(sections string, mutate ...func(*operator.Options)) *Operator {
	GinkgoHelper()
	return StartOperator(append([]func(*operator.Options){Configured(sections)}, mutate...)...)
}

func withWebhooks(o *operator.Options) { o.WebhookPort = 0 }

// logBuffer keeps what is written to it.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
