// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package acmenamespace

import (
	"encoding/json"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	v1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	"github.com/acme/platform-operator/internal/external/billing"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/tenancy"
)

// An AcmeNamespace that went without its finalizer has left its marks on the Namespace, and billing does not know that it
// is gone. When another one takes the Namespace, one write puts its own marks in the place of the former's and records
// the release that is to be reported; the record is dropped once billing knows.

// unreported is a release that billing does not know of.
type unreported struct {
	UID   types.UID `json:"uid"`
	Name  string    `json:"name"`
	Tier  string    `json:"tier,omitempty"`
	Admin string    `json:"admin,omitempty"`
	// At is when the operator noticed: nobody knows when the owner went.
	At time.Time `json:"at"`
}

// releases are what billing is to be told.
func releases(all []unreported, namespace string) []billing.Release {
	out := make([]billing.Release, 0, len(all)+1)
	for _, u := range all {
		out = append(out, billing.Release{ID: string(u.UID), Name: u.Name, Namespace: namespace, Tier: u.Tier, Admin: u.Admin, At: u.At})
	}
	return out
}

// maxRecorded is how many releases a record may hold. Each takes the loss of an owner without its finalizer while billing
// is away: a longer record was not written by the operator. It bounds what somebody can invent who may write the Namespace
// where the guardrail policy is missing; nothing at hand proves a release whose owner is gone.
const maxRecorded = 20

// recorded are the releases that a Namespace has on record. A record that cannot be read, or is too long, is none.
func recorded(ns *corev1.Namespace) []unreported {
	if ns == nil {
		return nil
	}
	var all []unreported
	if json.Unmarshal([]byte(ns.Annotations[tenancy.AnnotationUnreported]), &all) != nil || len(all) > maxRecorded {
		return nil
	}
	return all
}

// ended leaves of releases those of AcmeNamespaces that do not exist any more. A Namespace may come from somebody who
// wrote the marks of another tenant on it: billing must not hear that this one is gone.
func ended(all []unreported, existing []v1alpha1.AcmeNamespace) []unreported {
	return slices.DeleteFunc(all, func(u unreported) bool {
		exists := func(n v1alpha1.AcmeNamespace) bool { return n.UID == u.UID }
		return u.UID == "" || slices.ContainsFunc(existing, exists)
	})
}

// record is how releases stand on a Namespace; empty when there are none.
func record(all []unreported) string {
	if len(all) == 0 {
		return ""
	}
	text, _ := json.Marshal(all) // strings and times can be encoded
	return string(text)
}

// formerOwner is the release of the AcmeNamespace whose marks a Namespace carries, when that is not the one with the given
// UID. The quotas are those in the Namespace: the one that is named after a tier tells the former's.
func formerOwner(ns *corev1.Namespace, uid types.UID, quotas []corev1.ResourceQuota, now time.Time) (unreported, bool) {
	former := types.UID(ns.Labels[names.LabelOwnerUID])
	if former == "" || former == uid {
		return unreported{}, false
	}
	u := unreported{UID: former, Name: tenancy.OwnerName(ns), Admin: ns.Labels[adminKey], At: now.UTC().Truncate(time.Second)}
	if u.Admin == "" {
		u.Admin = ns.Annotations[adminKey]
	}
	for _, q := range quotas {
		if slices.Contains(quotaNames(), q.Name) && q.Labels[names.LabelOwnerUID] == string(former) {
			u.Tier = q.Name
		}
	}
	return u, true
}
