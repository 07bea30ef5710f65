// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy holds the admission policies that are installed beside the operator, so that the operator can tell
// whether those of a cluster are the same.
package policy

import _ "embed"

// GuardRails is the guardrail policy with its bindings, in YAML, under the names that it has before kustomize adds the
// operator's to them.
//
//go:embed guard_rails.yaml
var GuardRails []byte
