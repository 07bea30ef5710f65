// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"errors"
	"fmt"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/scheduling"
)

// Plan says what follows from a SchedulerProfile in a cluster of a minor version of Kubernetes 1.
func Plan(o Options, server int) engine.Plan {
	return engine.PlanOf[*v1alpha1.SchedulerProfile]{
		Of: v1alpha1.GroupVersion.WithKind("SchedulerProfile"), Name: Name, Owns: owns, Proves: proves,
		Children: func(p *v1alpha1.SchedulerProfile, _ engine.Known) (engine.Planned, error) {
			return o.planned(p, server)
		},
	}.Plan()
}

func (o Options) planned(p *v1alpha1.SchedulerProfile, server int) (out engine.Planned, err error) {
	in := input{profile: p, namespace: o.Namespace}
	image, minor, found := o.Images.For(server)
	switch spec := p.Spec; {
	case spec.Program != nil:
		in.image = spec.Program.Image
	case spec.Image != "":
		in.image = spec.Image
	case !found:
		return out, errors.New("it is not known which image of kube-scheduler the operator uses for this API server; set spec.image, " +
			"or ask for the right to read the operator's Deployment")
	default:
		in.image = image
	}
	if p.Spec.Program == nil {
		if in.config, err = scheduling.Config(&p.Spec, lease(p, o.Namespace), scheduling.Of(&p.Spec, minor)); err != nil {
			return out, fmt.Errorf("rendering the configuration: %w", err)
		}
	}
	out.Children = desired(in)
	return out, nil
}
