// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package policy holds the admission policies that are installed beside the operator, so that the operator and the kubectl
// plugin can tell whether those of a cluster are the same.
package policy

import (
	"embed"
	"regexp"
)

// GuardRails is the guardrail policy with its bindings, in YAML, under the names that it has before kustomize adds the
// operator's to them.
//
//go:embed guard_rails.yaml
var GuardRails []byte

// All are the admission policies with their bindings, in YAML, one a file, under the same names.
//
//go:embed apiservice_bounds.yaml database_bounds.yaml database_rights.yaml guard_rails.yaml leader_marks.yaml leader_rights.yaml restart_rights.yaml
var All embed.FS

// DatabaseBounds is the policy that bounds what the operator itself writes for Databases, with its binding, likewise.
//
//go:embed database_bounds.yaml
var DatabaseBounds []byte

// breaks are those between the lines of an expression. They mean nothing in CEL, and kustomize doubles those before indented lines.
var breaks = regexp.MustCompile(`\s*\n\s*`)

// OneLine puts an expression of a policy on one line: two that are equal then mean the same.
func OneLine(expression string) string { return breaks.ReplaceAllString(expression, " ") }
