// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// Plan says what follows from a LeaderElection. What its ConfigMap holds depends on the pods, so that it is left as it is.
func Plan() engine.Plan {
	return engine.PlanOf[*v1alpha1.LeaderElection]{
		Of: v1alpha1.GroupVersion.WithKind("LeaderElection"), Name: Name, Owns: owns, Proves: proves,
		Children: func(e *v1alpha1.LeaderElection, _ engine.Known) (p engine.Planned, err error) {
			p.Children = desiredServices(e)
			for _, c := range desiredFiles(e, nil) {
				p.Children = append(p.Children, c.Later())
			}
			p.Notes = append(p.Notes, "who leads is decided by the pods that are ready, and recorded in the Lease "+leaderName(e))
			return p, nil
		},
	}.Plan()
}
