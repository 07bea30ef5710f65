// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"strings"
	"testing"
)

func TestSchedulerImage(t *testing.T) {
	want := "RELATED_IMAGE_KUBE_SCHEDULER_1_36=registry.acme.com/kubernetes/kube-scheduler:v1.36.3"
	if got := schedulerImage("v1.36.3"); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSchedulerIsStarted: one that does not run is started, whatever is left of it.
func TestSchedulerIsStarted(t *testing.T) {
	x := newDemo(t).extraScheduler(&scene{name: "s"})
	if err := os.MkdirAll(x.Dir+"/schedulers", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"config": "c", "pod": "p"} {
		if err := os.WriteFile(x.file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if x.current(nil, []byte("c"), []string{"p"}) {
		t.Error("it does not run, and counts as if it did")
	}
	if !strings.HasSuffix(x.child, "-schedulerprofile") || !strings.HasPrefix(x.file("config"), x.Dir) {
		t.Errorf("got %+v", x)
	}
}
