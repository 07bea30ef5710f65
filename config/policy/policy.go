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
// Package policy holds the admission policies that are installed beside the operator, so that the operator can tell
// whether those of a cluster are the same.
package policy

import _ "embed"

// GuardRails is the guardrail policy with its bindings, in YAML, under the names that it has before kustomize adds the
// operator's to them.
//
//go:embed guard_rails.yaml
var GuardRails []byte
