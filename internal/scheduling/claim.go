// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

// Claim is a name of a profile that another object has.
type Claim struct {
	// SchedulerName is the name, and Owner the object that has it.
	SchedulerName, Owner string
}

// Taken returns the names of an object's profiles that older objects have, in the order of its profiles. An object that is not
// stored yet has no UID, and is the youngest.
func Taken(p *v1alpha1.SchedulerProfile, all []v1alpha1.SchedulerProfile) (taken []Claim) {
	for _, profile := range p.Spec.Profiles {
		for i := range all {
			other := &all[i]
			if other.UID != p.UID && other.Name != p.Name && older(other, p) && Serves(other, profile.SchedulerName) {
				taken = append(taken, Claim{profile.SchedulerName, other.Name})
				break
			}
		}
	}
	return taken
}

// Displaced returns the names of an object's profiles that younger objects have, in the order of its profiles: these objects lose them.
func Displaced(p *v1alpha1.SchedulerProfile, all []v1alpha1.SchedulerProfile) (displaced []Claim) {
	for _, profile := range p.Spec.Profiles {
		for i := range all {
			other := &all[i]
			if other.UID != p.UID && older(p, other) && Serves(other, profile.SchedulerName) {
				displaced = append(displaced, Claim{profile.SchedulerName, other.Name})
			}
		}
	}
	return displaced
}

// Serves reports whether an object has a profile of a name.
func Serves(p *v1alpha1.SchedulerProfile, schedulerName string) bool {
	return slices.ContainsFunc(p.Spec.Profiles, func(o v1alpha1.Profile) bool { return o.SchedulerName == schedulerName })
}

// older reports whether one object is older than another. Of two of the same second, names decide.
func older(a, b *v1alpha1.SchedulerProfile) bool {
	switch {
	case b.UID == types.UID("") || b.CreationTimestamp.IsZero():
		return true
	case !a.CreationTimestamp.Equal(&b.CreationTimestamp):
		return a.CreationTimestamp.Before(&b.CreationTimestamp)
	}
	return a.Name < b.Name
}
