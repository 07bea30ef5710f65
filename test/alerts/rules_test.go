// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"sigs.k8s.io/yaml"
)

const (
	root  = "../.."
	pages = root + "/docs/runbooks"
	// step is how often rules are evaluated and series have a sample.
	step = time.Minute
)

// ruleFile is the PrometheusRule as a file of rules, which is what the Prometheus operator makes of it.
func ruleFile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(root + "/config/prometheus/rules.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var object struct {
		Spec map[string]any `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &object); err != nil {
		t.Fatal(err)
	}
	if text, err = yaml.Marshal(object.Spec); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// prometheus evaluates the rules against series in promtool's notation.
type prometheus struct {
	*promqltest.LazyLoader
	groups []*rules.Group
}

func newPrometheus(t *testing.T, series string) prometheus {
	t.Helper()
	load := "load 1m\n"
	for line := range strings.Lines(series) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			load += "  " + line + "\n"
		}
	}
	p := parser.NewParser(parser.Options{})
	loader, err := promqltest.NewLazyLoader(load, promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: p})
	if err != nil {
		t.Fatalf("loading %s: %v", load, err)
	}
	t.Cleanup(func() {
		if err := loader.Close(); err != nil {
			t.Error(err)
		}
	})
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc: rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()), AppendableV2: loader.Storage(),
		Context: t.Context(), NotifyFunc: func(context.Context, string, ...*rules.Alert) {}, Logger: promslog.NewNopLogger(), Parser: p,
	})
	groups, errs := m.LoadGroups(step, labels.EmptyLabels(), "", nil, false, ruleFile(t))
	for _, err := range errs {
		t.Fatal(err)
	}
	out := prometheus{LazyLoader: loader}
	for _, g := range groups {
		for _, r := range g.Rules() {
			if alert, is := r.(*rules.AlertingRule); is {
				alert.SetRestored(true)
			}
		}
		out.groups = append(out.groups, g)
	}
	// Those that record come first: alerts use what they record.
	slices.SortFunc(out.groups, func(a, b *rules.Group) int { return strings.Compare(b.Name(), a.Name()) })
	return out
}

// alerting returns the rules that alert, by name.
func (p prometheus) alerting(t *testing.T) map[string]*rules.AlertingRule {
	t.Helper()
	all := map[string]*rules.AlertingRule{}
	for _, g := range p.groups {
		for _, r := range g.Rules() {
			if alert, is := r.(*rules.AlertingRule); is {
				if all[alert.Name()] != nil {
					t.Errorf("there are two alerts %s", alert.Name())
				}
				all[alert.Name()] = alert
			}
		}
	}
	return all
}

// firing is, for each alert, the minutes at which it fires, and the labels of those that fired.
func (p prometheus) firing(t *testing.T, minutes int) map[string]*firing {
	t.Helper()
	out := map[string]*firing{}
	for minute := range minutes {
		at := time.Unix(0, 0).UTC().Add(time.Duration(minute) * step)
		p.WithSamplesTill(at, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range p.groups {
				g.Eval(t.Context(), at)
				for _, r := range g.Rules() {
					if err := r.LastError(); err != nil {
						t.Fatalf("evaluating %s: %v", r.Name(), err)
					}
				}
			}
		})
		for name, rule := range p.alerting(t) {
			for _, alert := range rule.ActiveAlerts() {
				if alert.State == rules.StateFiring {
					out[name] = out[name].add(minute, alert)
				}
			}
		}
	}
	return out
}

// firing is when an alert fired.
type firing struct {
	from, to int
	gaps     bool
	summary  string
	labels   labels.Labels
}

func (f *firing) add(minute int, a *rules.Alert) *firing {
	if f == nil {
		f = &firing{from: minute, to: minute - 1}
	}
	f.gaps = f.gaps || minute > f.to+1
	f.to, f.labels, f.summary = minute, a.Labels, a.Annotations.Get("summary")
	return f
}
