// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// requestsOn is how many requests the API server has counted on a resource, its status included, and for the creation
// of Jobs. Reads of many objects are not in it: they belong to the start of a client, not to a run.
func (c *cluster) requestsOn(ctx context.Context, resource string) (float64, error) {
	return c.counted(ctx, func(text []byte) (float64, error) { return countRequests(text, resource) })
}

// patchesOf is how many patches of a resource, or of a subresource of it, the API server has counted.
func (c *cluster) patchesOf(ctx context.Context, resource, subresource string) (float64, error) {
	return c.counted(ctx, func(text []byte) (float64, error) { return countPatches(text, resource, subresource) })
}

func (c *cluster) counted(ctx context.Context, count func(text []byte) (float64, error)) (float64, error) {
	text, err := c.rest.Get().AbsPath("/metrics").DoRaw(ctx)
	if err != nil {
		return 0, fmt.Errorf("reading the API server's metrics: %w", err)
	}
	return count(text)
}

func countPatches(text []byte, resource, subresource string) (n float64, err error) {
	err = eachRequest(text, func(have map[string]string, count float64) {
		if have["resource"] == resource && have["subresource"] == subresource && have["verb"] == "PATCH" {
			n += count
		}
	})
	return n, err
}

func countRequests(text []byte, resource string) (n float64, err error) {
	err = eachRequest(text, func(have map[string]string, count float64) {
		verb := have["verb"]
		creates := have["resource"] == "jobs" && have["subresource"] == "" && (verb == "POST" || verb == "APPLY")
		if creates || have["resource"] == resource && verb != "LIST" && verb != "WATCH" {
			n += count
		}
	})
	return n, err
}

// eachRequest does something for each series of requests in the API server's metrics.
func eachRequest(text []byte, do func(have map[string]string, count float64)) error {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return fmt.Errorf("reading the API server's metrics: %w", err)
	}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		do(labelsOf(m), m.GetCounter().GetValue())
	}
	return nil
}

func labelsOf(m *dto.Metric) map[string]string {
	have := map[string]string{}
	for _, l := range m.GetLabel() {
		have[l.GetName()] = l.GetValue()
	}
	return have
}

// quietRequests gives the count once it has not changed for a while.
func (b *bench) quietRequests(ctx context.Context, resource string) (float64, error) {
	var last float64
	since := time.Now()
	err := poll(ctx, "nothing is asked about "+resource+" any more", time.Second, func(ctx context.Context) (bool, error) {
		now, err := b.requestsOn(ctx, resource)
		if err != nil {
			return false, err
		}
		if now != last {
			last, since = now, time.Now()
		}
		return time.Since(since) > 3*quiet, nil
	})
	return last, err
}

// memoryOf is the resident memory of one of the cluster's processes, in MiB.
func (b *bench) memoryOf(component string) (float64, error) {
	pid, err := os.ReadFile(b.path(".cluster", b.clusterName, "pids", component))
	if err != nil {
		return 0, fmt.Errorf("finding the process %s: %w", component, err)
	}
	m, err := memoryOfProcess(strings.TrimSpace(string(pid)))
	return m.Resident, err
}
