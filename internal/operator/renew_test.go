// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

func configMapOf(size int) *corev1.ConfigMap {
	return &corev1.ConfigMap{Data: map[string]string{"a": strings.Repeat("x", size)}}
}

// ends reports whether a watch ends within some time.
func ends(w watch.Interface, within time.Duration) bool {
	select {
	case _, open := <-w.ResultChan():
		return !open
	case <-time.After(within):
		return false
	}
}

const soon = 5 * time.Millisecond

func TestAWatchThatBroughtALargeObjectEnds(t *testing.T) {
	from := watch.NewFake()
	w := renewed(from, false, soon)
	go from.Add(configMapOf(1))
	<-w.ResultChan()
	if ends(w, 20*soon) {
		t.Fatal("it ends although all is small")
	}
	go from.Modify(configMapOf(900 << 10))
	if e := <-w.ResultChan(); e.Type != watch.Modified {
		t.Fatalf("got %+v", e)
	}
	if !ends(w, time.Minute) || !from.IsStopped() {
		t.Error("it continues")
	}
}

func TestAWatchDoesNotEndWithinItsList(t *testing.T) {
	from := watch.NewFake()
	w := renewed(from, true, soon)
	go from.Add(configMapOf(900 << 10))
	<-w.ResultChan()
	if ends(w, 20*soon) {
		t.Fatal("the list is not complete")
	}
	end := configMapOf(0)
	end.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	go from.Action(watch.Bookmark, end)
	<-w.ResultChan()
	if !ends(w, time.Minute) {
		t.Error("it continues")
	}
}

func TestAWatchEndsWithTheOneBelowAndWithItsReader(t *testing.T) {
	from := watch.NewFake()
	w := renewed(from, false, time.Hour)
	from.Stop()
	if !ends(w, time.Minute) {
		t.Error("it outlives the one below")
	}
	from = watch.NewFake()
	w = renewed(from, false, time.Hour)
	from.Add(configMapOf(1)) // which is never read
	w.Stop()
	w.Stop()
	ended := ends(w, time.Minute)
	if !ended { // the object that was on its way came first
		ended = ends(w, time.Minute)
	}
	if !ended {
		t.Error("it continues after Stop")
	}
}
