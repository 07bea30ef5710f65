// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

const before = `
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="h",method="GET"} 40
rest_client_requests_total{code="200",host="h",method="PATCH"} 2
# TYPE platform_operator_api_writes_total counter
platform_operator_api_writes_total{kind="acmenamespace",verb="patch"} 2
`

const after = `
# TYPE rest_client_requests_total counter
rest_client_requests_total{code="200",host="h",method="GET"} 42
rest_client_requests_total{code="200",host="h",method="PATCH"} 18
rest_client_requests_total{code="409",host="h",method="PATCH"} 2
rest_client_requests_total{code="201",host="h",method="POST"} 2
# TYPE platform_operator_api_writes_total counter
platform_operator_api_writes_total{kind="acmenamespace",verb="apply"} 12
platform_operator_api_writes_total{kind="acmenamespace",verb="patch"} 6
platform_operator_api_writes_total{kind="other",verb="patch"} 100
# TYPE controller_runtime_reconcile_total counter
controller_runtime_reconcile_total{controller="acmenamespace",result="success"} 7
controller_runtime_reconcile_total{controller="acmenamespace",result="error"} 1
controller_runtime_reconcile_total{controller="other",result="success"} 50
# TYPE workqueue_depth gauge
workqueue_depth{controller="acmenamespace",name="acmenamespace",priority="0"} 3
workqueue_depth{controller="acmenamespace",name="acmenamespace",priority="-100"} 1
# TYPE controller_runtime_active_workers gauge
controller_runtime_active_workers{controller="acmenamespace"} 2
`

func TestRequestsPerObject(t *testing.T) {
	read := func(text string) counters {
		c, err := parseCounters(strings.NewReader(text), "acmenamespace")
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	now := read(after)
	// Of the 18 PATCHes 12 are applies and 4 are patches, so that 2 were made by the event recorder.
	want := requests{Total: 11, Apply: 6, Patch: 2, Events: 2, Get: 1}
	if diff := cmp.Diff(want, now.since(read(before), 2)); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
	if now.reconciles != 8 || now.queued != 6 || now.written() != 22 {
		t.Errorf("reconciles %v, queued %v, written %v; want 8, 6, 22", now.reconciles, now.queued, now.written())
	}
}

func TestLoad(t *testing.T) {
	stat := filepath.Join(t.TempDir(), "stat")
	if err := os.WriteFile(stat, []byte("7 (a) b) S 1 2 3 4 5 6 7 8 9 10 150 50 0\nrest 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readTicks(stat, ") ", 11, 12); err != nil || got != 2 {
		t.Errorf("readTicks = %v s, %v; want 2 s", got, err)
	}
	if _, err := readTicks(stat, ") ", 99); err == nil {
		t.Error("a field that is not there is read")
	}
	start := time.Now()
	before := usage{at: start, all: 10, ours: 5}
	seconds := 4.0 * float64(runtime.NumCPU())
	now := usage{at: start.Add(4 * time.Second), all: 10 + seconds, ours: 5 + seconds/4}
	if diff := cmp.Diff(load{CPUSeconds: seconds / 4, Others: 0.75}, now.since(before)); diff != "" {
		t.Errorf("since (-want +got):\n%s", diff)
	}
}

func TestPercentile(t *testing.T) {
	var sorted []time.Duration
	for i := range 200 {
		sorted = append(sorted, time.Duration(i+1))
	}
	for p, want := range map[int]time.Duration{1: 2, 50: 100, 99: 198, 100: 200} {
		if got := percentile(sorted, p); got != want {
			t.Errorf("p%d = %d, want %d", p, got, want)
		}
	}
	if got := percentile(nil, 50); got != 0 {
		t.Errorf("p50 of nothing = %d", got)
	}
}

func TestStopwatch(t *testing.T) {
	s := newStopwatch()
	see := func(name string, ready metav1.ConditionStatus) {
		s.see(watch.Event{Type: watch.Modified, Object: &tenancyv1alpha1.AcmeNamespace{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: tenancyv1alpha1.AcmeNamespaceStatus{Status: common.Status{Conditions: []metav1.Condition{
				{Type: engine.Ready, Status: ready, Reason: "NameTaken", Message: "there is one"},
			}}},
		}})
	}
	start := time.Now()
	s.sent["a"], s.sent["b"] = start.Add(-time.Hour), start.Add(-time.Minute)
	see("a", metav1.ConditionTrue)
	first := s.ready["a"]
	see("a", metav1.ConditionTrue)
	see("b", metav1.ConditionFalse)
	if s.ready["a"] != first {
		t.Error("a later event changed the time of the first")
	}
	if got := s.total(); got != first.Sub(s.sent["a"]) {
		t.Errorf("total = %s", got)
	}
	err := s.missing([]string{"a", "b"})
	if err == nil || err.Error() != `1 of 2 are not Ready; b says "NameTaken: there is one"` {
		t.Errorf("missing = %v", err)
	}
}

func TestAims(t *testing.T) {
	r := &result{aims: aims{ratio: 2, cpuRatio: 2, requests: 12, residentMiB: 100, growthMiB: 10}}
	for _, ratio := range []float64{1.5, 9, 2.5, 1.6} {
		r.Rounds = append(r.Rounds, round{Ratio: ratio, CPURatio: 1, MemoryMiB: memory{Peak: 80}, watch: newStopwatch()})
	}
	r.Restart = restartResult{Writes: 1, MemoryMiB: memory{Peak: 120}}
	r.sumUp()
	var missed []string
	for _, a := range r.Aims {
		if !a.OK {
			missed = append(missed, a.Name)
		}
	}
	want := []string{"time of the operator / raw client", "writes after a restart", "resident memory at its peak, MiB"}
	if diff := cmp.Diff(want, missed); diff != "" {
		t.Errorf("missed (-want +got):\n%s", diff)
	}
	if r.Ratio != 2.05 {
		t.Errorf("the median ratio is %v, want 2.05", r.Ratio)
	}
	if err := (&report{Results: map[string]outcome{r.Name: r}}).verdict(false); err == nil || err.Error() != "too high: writes after a restart (1)" {
		t.Errorf("verdict %v", err)
	}
}

// What is enforced, and how much of it, for one aim.
func TestEnforced(t *testing.T) {
	for reason, c := range map[string]struct {
		aim          aim
		ok, exceeded bool
	}{
		"met":                                 {aim{Most: 4, Got: 4, Enforced: true}, true, false},
		"more than the aim":                   {aim{Most: 4, Got: 4.1, Enforced: true}, false, true},
		"a time is only printed":              {aim{Most: 4, Got: 40}, false, false},
		"missed, and as high as it was":       {aim{Most: 4, Ceiling: 5, Got: 5, Enforced: true}, false, false},
		"missed, and higher than it was":      {aim{Most: 4, Ceiling: 5, Got: 5.1, Enforced: true}, false, true},
		"a ceiling below the aim counts less": {aim{Most: 4, Ceiling: 3, Got: 4, Enforced: true}, true, false},
		"a ratio to nothing":                  {aim{Most: 4, Got: math.NaN(), Enforced: true}, false, true},
	} {
		got := compare(c.aim)[0]
		if got.OK != c.ok || got.exceeded() != c.exceeded {
			t.Errorf("%s: ok %v, exceeded %v", reason, got.OK, got.exceeded())
		}
		var out strings.Builder
		printAims(&out, []aim{got})
		for word, want := range map[string]bool{"FAILED": c.exceeded, "MISSED": !c.ok && !c.exceeded, "met": c.ok} {
			if strings.Contains(out.String(), word) != want {
				t.Errorf("%s: the table says\n%s", reason, out.String())
			}
		}
	}
}

// A rival that ends is an error, and none of its processes outlives the measurement.
func TestRival(t *testing.T) {
	b := &bench{lab: &lab{dir: t.TempDir()}, cluster: &cluster{adminKubeconfig: "/there"}}
	b.rival = "echo $KUBECONFIG; exit 3"
	r, err := b.startRival()
	if err != nil {
		t.Fatal(err)
	}
	err = r.wait(t.Context(), time.Minute)
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "/there") {
		t.Errorf("the rival's end: %v", err)
	}
	if err := r.stop(); err != nil {
		t.Errorf("stopping one that has ended: %v", err)
	}

	b.rival = "trap '' TERM; sleep 3600 & wait; wait"
	if r, err = b.startRival(); err != nil {
		t.Fatal(err)
	}
	if err := r.wait(t.Context(), 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if pids, err := r.pids(); err != nil || len(pids) != 2 {
		t.Errorf("processes %v, %v; want the shell and sleep", pids, err)
	}
	if err := r.stop(); err != nil {
		t.Error(err)
	}
	err = poll(t.Context(), "nothing is left", time.Millisecond, func(context.Context) (bool, error) {
		pids, err := r.pids()
		return len(pids) == 0, err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestParse(t *testing.T) {
	for args, want := range map[string]string{
		"--only nothing":     `there is no benchmark "nothing"`,
		"--rounds 0":         "--rounds must be at least 1",
		"acmenamespace":      `unexpected "acmenamespace"`,
		"--no-such-flag now": "flag provided but not defined",
	} {
		if _, err := parse(strings.Fields(args)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("parse(%s) = %v, want %q in it", args, err, want)
		}
	}
	o, err := parse([]string{"--strict", "--only", "acmenamespace"})
	if err != nil || !o.strict || o.count != 500 {
		t.Errorf("parse = %+v, %v", o, err)
	}
}

// TestPunctuality: a run that is late because nobody looked fails the bench, a machine that is slow for everybody does not.
func TestPunctuality(t *testing.T) {
	for name, c := range map[string]struct {
		late, raw float64
		fails     bool
	}{
		"as soon as the raw client": {0.4, 0.4, false},
		"a fast machine":            {0.9, 0.05, false},
		"a machine that is busy":    {24, 6, false},
		"looked at 25 s late":       {25.3, 0.4, true},
		"the same on a busy one":    {31, 2, true},
		"never":                     {math.NaN(), 0.4, true},
	} {
		r := &cronResult{CronTab: startStats{DelaySeconds: percentiles{P99: c.late}}, RawDelaySeconds: percentiles{P99: c.raw}, CronJob: startStats{Requests: 1}}
		r.judge()
		if got := (&report{Results: map[string]outcome{cronTabName: r}}).verdict(false) != nil; got != c.fails {
			t.Errorf("%s: fails: %v, %+v", name, got, r.Aims)
		}
	}
}
