// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package crd holds the CustomResourceDefinitions of this version, so that the kubectl plugin can tell whether those of a
// cluster are the same.
package crd

import "embed"

// Bases are the CustomResourceDefinitions in YAML, one a file.
//
//go:embed bases/*.yaml
var Bases embed.FS
