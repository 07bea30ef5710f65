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

// Package guarantees checks what every kind guarantees, for every row of operator.Kinds: the operator
// runs under its generated role against a real etcd, kube-apiserver and kube-controller-manager.
//
// A guarantee alone: go test ./test/guarantees --ginkgo.label-filter=G4; a kind alone: the same with
// the kind's name.
package guarantees

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"go.uber.org/zap/zapcore"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var (
	dyn  *dynamic.DynamicClient
	logs logBuffer // what the operator logs, at any level
)

func TestGuarantees(t *testing.T) {
	Setup{
		Options: testenv.Options{WithControllers: true},
		Log:     zap.New(zap.WriteTo(&logs), zap.Level(zapcore.Level(-10))),
		Prepare: prepare,
	}.Run(t, "guarantees")
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
		if k := newKind(row); k.fixture != nil { // the completeness test tells about one that has none
			all = append(all, k)
		}
	}
	describeComplete()
	describeSteady(all)
	describeMemory(all)
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
			describeHostile(k)
			describeTruth(k)
		})
	}
})

// start runs the operator with the configurations of all kinds until the spec ends.
func start(mutate ...func(*operator.Options)) *testenv.Operator {
	GinkgoHelper()
	var sections []string
	for _, name := range sortedKeys(fixtures) {
		if e := fixtures[name].External(); e != nil {
			e.Answer(200)
		}
		sections = append(sections, fixtures[name].Configuration())
	}
	return startWith(strings.Join(sections, ""), mutate...)
}

func startWith(sections string, mutate ...func(*operator.Options)) *testenv.Operator {
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

// The closing table: kinds by guarantees.
var _ = ReportAfterSuite("table", func(report Report) {
	if report.SuiteConfig.DryRun {
		return
	}
	fmt.Print(table(report))
})

func table(report Report) string {
	type cell struct {
		specs int
		bad   bool
		time  time.Duration
	}
	var guarantees []string
	for i := range 15 {
		guarantees = append(guarantees, fmt.Sprintf("G%d", i+1))
	}
	cells := map[string]cell{}
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType != types.NodeTypeIt || spec.State == types.SpecStateSkipped {
			continue
		}
		for _, kind := range spec.Labels() {
			for _, g := range guarantees {
				if slices.Contains(spec.Labels(), g) && kind != g {
					c := cells[kind+g]
					cells[kind+g] = cell{c.specs + 1, c.bad || spec.State != types.SpecStatePassed, c.time + spec.RunTime}
				}
			}
		}
	}
	b := &strings.Builder{}
	fmt.Fprintf(b, "\n\n%-16s", "")
	for _, g := range guarantees {
		fmt.Fprintf(b, "%9s", g)
	}
	for _, row := range operator.Kinds {
		name := newKind(row).name
		fmt.Fprintf(b, "\n%-16s", name)
		for _, g := range guarantees {
			switch c := cells[name+g]; {
			case c.specs == 0:
				fmt.Fprintf(b, "%9s", "-")
			case c.bad:
				fmt.Fprintf(b, "%9s", "BROKEN")
			default:
				fmt.Fprintf(b, "%9s", fmt.Sprintf("ok %.0fs", c.time.Seconds()))
			}
		}
	}
	return b.String() + "\n\n"
}
