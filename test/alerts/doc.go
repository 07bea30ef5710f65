// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package alerts runs the rules of config/prometheus in Prometheus' own engine, against series that the tests make up. It has
// tests only.
package alerts
