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

package limit

import (
	"testing"
	"time"
)

type until time.Duration

func (u until) Deadline() (time.Time, bool) { return time.Now().Add(time.Duration(u)), u != 0 }

func TestOf(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{
		0:                time.Hour, // no deadline: Ginkgo's own limit
		10 * time.Minute: 8 * time.Minute,
		40 * time.Minute: 35 * time.Minute,
		90 * time.Minute: time.Hour,
	} {
		if got := Of(until(limit)).Timeout; got > want || got < want-time.Minute {
			t.Errorf("of %s Ginkgo has %s, want %s", limit, got, want)
		}
	}
}
