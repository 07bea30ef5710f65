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

package engine

import (
	"time"

	"k8s.io/utils/clock"
)

// Due has the object looked at again at an instant. Unlike a delay, which is a safety net, it is not spread:
// it is for what is to happen to the second. Of several instants the earliest counts; delays count beside it.
func (o Outcome) Due(at time.Time) Outcome {
	o.due = at
	return o
}

// earlier is the earlier of two instants, of which the zero one means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

// delay is how long to wait for the next look at the object; zero means for ever.
func (o Outcome) delay(c clock.PassiveClock) time.Duration {
	if o.due.IsZero() {
		return jitter(o.after)
	}
	return sooner(jitter(o.after), max(o.due.Sub(c.Now()), time.Millisecond))
}
