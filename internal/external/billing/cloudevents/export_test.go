// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudevents

// WhyUnreached is what tests outside of the package cannot bring about: a name that is not resolved needs a name server.
var WhyUnreached = whyUnreached
