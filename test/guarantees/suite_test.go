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
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/acme/platform-operator/internal/external/dbagent"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// logs is what the operator logs, at the most verbose level.
var logs logBuffer

func TestGuarantees(t *testing.T) {
	OfKinds(Setup{
		Options: testenv.Options{WithControllers: true},
		Log:     zap.New(zap.WriteTo(&logs), zap.Level(zapcore.Level(-operator.MaxVerbosity))),
		Prepare: prepare,
	}).Run(t, "guarantees")
}

// startFixtures does so once, whatever control planes there are.
var startFixtures = sync.OnceFunc(func() {
	for _, f := range fixtures {
		f.Start()
	}
})

func prepare() {
	startFixtures()
	discoverResources()
	for _, f := range fixtures {
		f.Prepare()
	}
}

// One container, so that specs run in this order: Ginkgo shuffles containers at the top.
var _ = Describe("Guarantees", func() {
	var all []*kind
	for _, k := range table() {
		if k.fixture != nil { // TestEveryKindHasAFixture reports one that has none
			all = append(all, k)
		}
	}
	BeforeEach(func() { now.reset(false) })
	describeComplete(all)
	describeOmissions(all)
	describeSteady(all)
	describeUnhindered(keepers("G7", all))
	describeBounded(all)
	describePoison(keepers("G15", all))
	describeUnanswered(all)
	describeEach(all)
	describeEachUnanswered(all)
})

// describeEach has the guarantees that are about one kind, of each kind, without some of them.
func describeEach(all []*kind, without ...string) {
	for _, k := range all {
		Describe(k.name, Label(k.name), func() {
			BeforeEach(func() { now.reset(k.fixture.TimeStands()) })
			for _, g := range []struct {
				name     string
				describe func(*kind)
			}{
				{"G3", describeLevels},
				{"G4", describeCrashes},
				{"G5", describeDrift},
				{"G6", describeFinalizers},
				{"G7", describeAbsence},
				{"G9", describeSecrecy},
				{"G10", describeOthers},
				{"G11", describeHostile},
				{"G12", describeTruth},
				{"G13", describeNeighbours},
				{"G15", describePoisonOf},
				{"G16", describeShares},
			} {
				if !k.leavesOut(g.name) && !slices.Contains(without, g.name) {
					g.describe(k)
				}
			}
		})
	}
}

// keepers are the kinds that do not leave out a guarantee.
func keepers(guarantee string, all []*kind) []*kind {
	return slices.DeleteFunc(slices.Clone(all), func(k *kind) bool { return k.leavesOut(guarantee) })
}

// start runs the operator with the configurations of all kinds, by the spec's time, until the spec ends.
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
	options := []func(*operator.Options){Configured(sections), func(o *operator.Options) { o.Clock, o.Agents = now, dbagent.NewHTTP(dialServers) }}
	return StartOperator(append(options, mutate...)...)
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
