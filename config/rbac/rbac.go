// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rbac holds the rights of the operator, so that the kubectl plugin can tell whether it has them in a cluster.
package rbac

import _ "embed"

// Manager are the ClusterRole and the Role of the operator, in YAML.
//
//go:embed role.yaml
var Manager []byte

// LeaderElection is the Role by which the replicas elect a leader, in YAML.
//
//go:embed leader_election_role.yaml
var LeaderElection []byte
