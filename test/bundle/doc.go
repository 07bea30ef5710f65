// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bundle checks what the Operator Lifecycle Manager gets: the bundle, the catalog, and the programs
// that make them. It has tests only, and runs without a cluster.
package bundle
