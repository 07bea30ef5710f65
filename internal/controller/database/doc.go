// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package database decides about Databases: what their children are, and which passwords they have. Nothing serves the kind yet.
package database
