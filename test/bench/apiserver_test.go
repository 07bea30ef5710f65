// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCountRequests(t *testing.T) {
	const text = `
# TYPE apiserver_request_total counter
apiserver_request_total{resource="crontabs",subresource="",verb="PATCH",code="200"} 1
apiserver_request_total{resource="crontabs",subresource="status",verb="PATCH",code="200"} 20
apiserver_request_total{resource="crontabs",subresource="",verb="WATCH",code="200"} 300
apiserver_request_total{resource="crontabs",subresource="",verb="LIST",code="200"} 300
apiserver_request_total{resource="jobs",subresource="",verb="APPLY",code="201"} 4000
apiserver_request_total{resource="jobs",subresource="",verb="POST",code="201"} 50000
apiserver_request_total{resource="jobs",subresource="status",verb="PUT",code="200"} 300
apiserver_request_total{resource="pods",subresource="",verb="POST",code="201"} 300
`
	if got, err := countRequests([]byte(text), "crontabs"); err != nil || got != 54021 {
		t.Errorf("counted %v, error %v; want 54021", got, err)
	}
	if got, err := countPatches([]byte(text), "crontabs", ""); err != nil || got != 1 {
		t.Errorf("counted %v patches, error %v; want 1", got, err)
	}
	if got, err := countPatches([]byte(text), "crontabs", "status"); err != nil || got != 20 {
		t.Errorf("counted %v patches of the status, error %v; want 20", got, err)
	}
	if _, err := countRequests([]byte("no metrics {"), "crontabs"); err == nil {
		t.Error("what cannot be read is counted")
	}
}

func TestJudge(t *testing.T) {
	r := &cronResult{MostWithH: 61}
	r.CronTab = startStats{DelaySeconds: percentiles{P50: 1, P99: 3}, Requests: 4}
	r.CronJob = startStats{DelaySeconds: percentiles{P50: 2, P99: 2}, Requests: 4}
	r.judge()
	var ok []bool
	for _, a := range r.Aims {
		ok = append(ok, a.OK)
	}
	if want := []bool{true, false, true, false, false}; !slices.Equal(ok, want) {
		t.Errorf("aims %+v, want %v", r.Aims, want)
	}
	all := &report{Results: map[string]outcome{cronTabName: r}}
	if err := all.verdict(false); err == nil || err.Error() != "too high: starts in one second, with H (61)" {
		t.Errorf("verdict %v", err)
	}
	if err := all.verdict(true); err == nil || !strings.Contains(err.Error(), "p99 of the start delay") {
		t.Errorf("strict verdict %v", err)
	}
}
