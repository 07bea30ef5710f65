// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
)

const (
	recordEvery = 20 * time.Millisecond
	recordMore  = 50 // numbers
	recordLimit = 5 * time.Second
)

// recorder writes one number after the other into a ledger, and remembers which ones that has said to have written.
type recorder struct {
	url     string
	numbers int    // so far
	end     func() // ends what start has started

	mu       sync.Mutex
	accepted []int
	refused  stretches // since the last start
}

// start starts to write to a WebApp.
func (r *recorder) start(ctx context.Context, app site) {
	GinkgoHelper()
	service := &corev1.Service{}
	Expect(app.Get(ctx, app.key(), service)).To(Succeed())
	r.startAt(service)
}

// startAt starts to write to a Service. It ends with the spec at the latest.
func (r *recorder) startAt(service *corev1.Service) {
	GinkgoHelper()
	r.url, r.refused = "http://"+service.Spec.ClusterIP+"/", stretches{}
	working, stop := context.WithCancel(context.Background())
	var writing sync.WaitGroup
	writing.Go(func() { r.work(working) })
	r.end = func() {
		stop()
		writing.Wait()
	}
	DeferCleanup(r.end)
}

// work writes until ctx ends. A write that was begun is finished, so that what was accepted is known.
func (r *recorder) work(ctx context.Context) {
	ticker := time.NewTicker(recordEvery)
	defer ticker.Stop()
	for ctx.Err() == nil {
		start := time.Now()
		r.numbers++
		_, err := r.ask(http.MethodPost, strconv.Itoa(r.numbers))
		r.note(start, err)
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
	r.refused.note(time.Time{}, false, nil)
}

func (r *recorder) note(start time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused.note(start, err != nil, err)
	if err == nil {
		r.accepted = append(r.accepted, r.numbers)
	}
}

// ask sends a request on a connection of its own.
func (r *recorder) ask(method, path string) ([]byte, error) {
	request, err := http.NewRequest(method, r.url+path, http.NoBody)
	if err != nil {
		return nil, err
	}
	client := http.Client{Timeout: recordLimit, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return body, errors.Join(err, response.Body.Close())
}

func (r *recorder) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.accepted)
}

// awaitMore waits until more numbers are accepted.
func (r *recorder) awaitMore(ctx context.Context) {
	GinkgoHelper()
	before := r.count()
	eventually(ctx, "more numbers are accepted", soon, func(g Gomega) { g.Expect(r.count()).To(BeNumerically(">=", before+recordMore)) })
}

// expectNoneLost ends the writing, and expects that each number that was ever accepted is there.
func (r *recorder) expectNoneLost(ctx context.Context) {
	GinkgoHelper()
	r.end()
	kept := map[int]bool{}
	eventually(ctx, "the numbers are read", soon, func(g Gomega) {
		var numbers []int
		body, err := r.ask(http.MethodGet, "")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(json.Unmarshal(body, &numbers)).To(Succeed())
		for _, n := range numbers {
			kept[n] = true
		}
	})
	lost := 0
	for _, n := range r.accepted {
		if !kept[n] {
			lost++
		}
	}
	say("%d numbers sent, %d accepted, %d of them lost", r.numbers, len(r.accepted), lost)
	for i, err := range r.refused.errs {
		say("refused for %s: %v", r.refused.lengths[i].Round(time.Millisecond), err)
	}
	Expect(lost).To(BeZero(), "numbers that were accepted, and are not there")
}
