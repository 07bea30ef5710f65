// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

// One source that is silent for too long is enough: rights that were taken away may be unknown. AcmeNamespaces give none.
func TestASilentSourceIsOutOfDate(t *testing.T) {
	s := offline(t)
	now := s.clock.(*clocktesting.FakeClock)
	s.publish()
	for _, silent := range s.informer.all() {
		for _, i := range s.informer.all() {
			i.beat.Store(now.Now().UnixNano())
		}
		now.Step(150 * time.Second)
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
		now.Step(time.Second)
		for _, i := range s.informer.all() {
			if i != silent {
				i.beat.Store(now.Now().UnixNano())
			}
		}
		err := s.Check()
		if hard := silent != s.informer.acmeNamespaces; hard != (err != nil) {
			t.Errorf("silence of %s: %v", silent.resource, err)
		} else if hard && !strings.Contains(err.Error(), "nothing about "+silent.resource+" for 2m31s") {
			t.Error(err)
		}
	}
}
