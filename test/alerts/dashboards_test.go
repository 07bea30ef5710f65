// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"sigs.k8s.io/yaml"
)

const grafana = root + "/config/grafana/"

// dashboard is what these tests read of one.
type dashboard struct {
	UID        string
	Panels     []panel
	Templating struct {
		List []struct{ Name, Type, Query string }
	}
}

type panel struct {
	Title, Type, Description string
	ID                       int
	Panels                   []panel
	GridPos                  struct{ X, Y, W, H int }
	Targets                  []struct{ Expr string }
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(grafana + "*.json")
	if err != nil || len(files) != 2 {
		t.Fatalf("there are the dashboards %v, want two: %v", files, err)
	}
	all := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var d dashboard
		if err := json.Unmarshal(text, &d); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[filepath.Base(file)] = d
	}
	return all
}

// chosen are the values of variables with which queries are evaluated: a namespaced object, and one that is not.
var chosen = []map[string]string{
	{"kind": "webapp", "namespace": "team-a", "object": "shop"},
	{"kind": "acmenamespace", "namespace": "", "object": "team-z"},
}

// fill replaces variables as Grafana does.
func fill(expr string, values map[string]string) string {
	expr = strings.ReplaceAll(expr, "$__rate_interval", "5m")
	for name, value := range values {
		expr = strings.ReplaceAll(expr, "$"+name, value)
	}
	return expr
}

// TestDashboards wants that every query of every dashboard returns values, that each series which it selects exists, and that
// the values of variables can be chosen.
func TestDashboards(t *testing.T) {
	series, err := os.ReadFile("testdata/series.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := newPrometheus(t, string(series))
	count := 0
	for name, d := range dashboards(t) {
		panels := d.Panels
		for _, row := range d.Panels {
			panels = append(panels, row.Panels...)
		}
		for _, panel := range panels {
			for _, target := range panel.Targets {
				count++
				for _, values := range chosen {
					p.check(t, name+", "+panel.Title, fill(target.Expr, values))
				}
			}
		}
		for _, v := range d.Templating.List {
			if v.Type == "query" {
				p.checkVariable(t, name, v.Name, v.Query)
			}
		}
	}
	if count < 40 {
		t.Errorf("there are %d queries only: the search for them is broken", count)
	}
}

// TestDashboardsFindMistakes wants that a query with a mistake is found.
func TestDashboardsFindMistakes(t *testing.T) {
	series, err := os.ReadFile("testdata/series.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := newPrometheus(t, string(series))
	for expr, want := range map[string]string{
		`platform_operator_objects`:                           "",
		`sum(platform_operator_objects{kind="webapp"}`:        "parse error",
		`platform_operator_objectz`:                           "no series",
		`platform_operator_objects{job="other"} or vector(0)`: "no series",
		`platform_operator_objects > 1e9`:                     "no value",
		`0 / (platform_operator_objects * 0)`:                 "no value",
	} {
		if err := p.returns(t, expr); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", expr, err, want)
		}
	}
}

func (p prometheus) check(t *testing.T, where, expr string) {
	t.Helper()
	if strings.Contains(expr, "$") {
		t.Errorf("%s: %s has a variable that is not known", where, expr)
	} else if err := p.returns(t, expr); err != nil {
		t.Errorf("%s: %s: %v", where, expr, err)
	}
}

// returns tells why a query does not return a value, or selects what does not exist.
func (p prometheus) returns(t *testing.T, expr string) error {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expr)
	if err != nil {
		return err
	}
	var missing error
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if s, is := node.(*parser.VectorSelector); is && len(p.query(t, s.String())) == 0 {
			missing = fmt.Errorf("no series %s", s)
		}
		return nil
	})
	if missing != nil {
		return missing
	}
	if !slices.ContainsFunc(p.query(t, expr), func(s promql.Sample) bool { return !math.IsNaN(s.F) }) {
		return fmt.Errorf("no value")
	}
	return nil
}

// query evaluates an expression after an hour.
func (p prometheus) query(t *testing.T, expr string) promql.Vector {
	t.Helper()
	at := time.Unix(0, 0).UTC().Add(time.Hour)
	var out promql.Vector
	p.WithSamplesTill(at, func(err error) {
		if err != nil {
			t.Fatal(err)
		}
		q, err := p.QueryEngine().NewInstantQuery(t.Context(), p.Queryable(), nil, expr, at)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		defer q.Close()
		result := q.Exec(t.Context())
		if out, err = result.Vector(); err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
	})
	return out
}

var labelValues = regexp.MustCompile(`^label_values\((.+), ([a-z_]+)\)$`)

// checkVariable wants that the value which the queries are evaluated with can be chosen.
func (p prometheus) checkVariable(t *testing.T, where, name, query string) {
	t.Helper()
	m := labelValues.FindStringSubmatch(query)
	if m == nil {
		t.Errorf("%s: the variable %s is %q, want label_values(…)", where, name, query)
		return
	}
	for _, values := range chosen {
		found := slices.ContainsFunc(p.query(t, fill(m[1], values)), func(s promql.Sample) bool { return s.Metric.Get(m[2]) == values[name] })
		if !found {
			t.Errorf("%s: %s has no value %q", where, fill(query, values), values[name])
		}
	}
}

// TestPanels wants panels that say what they show and do not cover each other.
func TestPanels(t *testing.T) {
	for name, d := range dashboards(t) {
		if d.UID != strings.TrimSuffix(name, ".json") {
			t.Errorf("%s has the UID %s", name, d.UID)
		}
		for i, p := range d.Panels {
			if p.Type != "row" && (p.Title == "" || p.Description == "" || len(p.Targets) == 0) {
				t.Errorf("%s: the panel %q has no title, no description or no query", name, p.Title)
			}
			a := p.GridPos
			for _, other := range d.Panels[:i] {
				if b := other.GridPos; a.X < b.X+b.W && b.X < a.X+a.W && a.Y < b.Y+b.H && b.Y < a.Y+a.H {
					t.Errorf("%s: %q and %q cover each other", name, p.Title, other.Title)
				}
			}
			if a.X+a.W > 24 {
				t.Errorf("%s: %q ends beside the dashboard", name, p.Title)
			}
		}
	}
}

// stateMetrics is what is read of the configuration of kube-state-metrics.
type stateMetrics struct {
	Spec struct {
		Resources []struct {
			GroupVersionKind struct{ Group, Version, Kind string }
			MetricNamePrefix string
			CommonLabels     map[string]string
			LabelsFromPath   map[string][]string
			Metrics          []struct {
				Name string
				Each struct {
					Gauge struct{ LabelsFromPath map[string][]string }
				}
			}
		}
	}
}

// TestStateMetrics wants that the series with which the dashboards are tested are those that the configuration of
// kube-state-metrics makes, and no more than nine of them an object.
func TestStateMetrics(t *testing.T) {
	text, err := os.ReadFile(grafana + "custom-resource-state.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config stateMetrics
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // labels by kind and name
	for _, r := range config.Spec.Resources {
		kind := r.CommonLabels["kind"]
		if kind != strings.ToLower(r.GroupVersionKind.Kind) {
			t.Errorf("%s has the label %s", r.GroupVersionKind.Kind, kind)
		}
		for _, m := range r.Metrics {
			keys := []string{"customresource_group", "customresource_kind", "customresource_version", "kind"}
			for key := range r.LabelsFromPath {
				keys = append(keys, key)
			}
			for key := range m.Each.Gauge.LabelsFromPath {
				keys = append(keys, key)
			}
			slices.Sort(keys)
			want[kind+" "+r.MetricNamePrefix+"_"+m.Name] = strings.Join(keys, " ")
		}
	}
	series, err := os.ReadFile("testdata/series.txt")
	if err != nil {
		t.Fatal(err)
	}
	p := newPrometheus(t, string(series))
	perObject := map[string]int{}
	for _, s := range p.query(t, `{__name__=~"acme_object_.*"}`) {
		key := s.Metric.Get("kind") + " " + s.Metric.Get(model.MetricNameLabel)
		perObject[s.Metric.Get("object")]++
		var keys []string
		s.Metric.Range(func(l labels.Label) {
			if l.Name != model.MetricNameLabel {
				keys = append(keys, l.Name)
			}
		})
		got := strings.Join(keys, " ")
		if got != want[key] && got != strings.Replace(want[key], " object_namespace", "", 1) {
			t.Errorf("the series %s has the labels %s; the configuration makes %s", key, got, want[key])
		}
	}
	for kind := range map[string]bool{"webapp": true, "acmenamespace": true} {
		for key := range want {
			if strings.HasPrefix(key, kind+" ") && len(p.query(t, fmt.Sprintf(`%s{kind=%q}`, strings.TrimPrefix(key, kind+" "), kind))) == 0 {
				t.Errorf("no series %s", key)
			}
		}
	}
	if len(perObject) != len(chosen) {
		t.Errorf("there are series of the objects %v", perObject)
	}
}
