// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/inforce"
)

// checkBounds lets no Database be served while nothing bounds which Secrets, claims and volumes the operator may write: it has these
// rights for Databases only. Servers that run continue to run, and a deletion needs no policy.
func (r *run) checkBounds(ctx context.Context) (engine.Outcome, error) {
	return judgeBounds(r.bounds.Current(ctx), r.bounds.Policy.Name, inforce.InstallCommand(r.Version)), nil
}

// judgeBounds says what follows from the state of the policy.
func judgeBounds(f inforce.Finding, policy, install string) engine.Outcome {
	switch {
	case f.Err != nil:
		return engine.Wait(recheck, ReasonPolicyUnknown, fmt.Sprintf("the operator cannot read the admission policy %s, without which it serves no "+
			"Databases; grant it the verb get on the policy and its binding, as its ClusterRole does", policy)).Warning()
	case f.Differs:
		return engine.Lacking(ReasonPolicyDiffers, fmt.Sprintf("%s does not match this version of the operator: it may allow the operator more "+
			"than Databases need, or reject what they need; a cluster administrator installs it with: %s", f.Lacks, install))
	case f.Lacks != "":
		return engine.Block(ReasonPolicyMissing, fmt.Sprintf("%s: Databases are not served, because nothing else bounds which Secrets, claims and "+
			"volumes the operator may write; a cluster administrator installs it with: %s", f.Lacks, install))
	}
	return engine.Done()
}
