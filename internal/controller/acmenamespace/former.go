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

// An AcmeNamespace that was removed without its finalizer has left its owner marks on the Namespace, and its
// release is not reported to billing. When another one adopts the Namespace, one write replaces the marks and
// records the release that is to be reported; the record is removed once it is reported.

// unreported is a release that is not reported to billing yet.
type unreported struct {
	UID   types.UID `json:"uid"`
	Name  string    `json:"name"`
	Tier  string    `json:"tier,omitempty"`
	Admin string    `json:"admin,omitempty"`
	// At is when the operator noticed: when the owner was removed is not known.
	At time.Time `json:"at"`
}

// releases returns what is to be reported to billing.
func releases(all []unreported, namespace string) []billing.Release {
	out := make([]billing.Release, 0, len(all)+1)
	for _, u := range all {
		out = append(out, billing.Release{ID: string(u.UID), Name: u.Name, Namespace: namespace, Tier: u.Tier, Admin: u.Admin, At: u.At})
	}
	return out
}

// maxRecorded is the most releases of a record. Each one means that an owner was removed without its finalizer
// while billing was down: a longer record was not written by the operator. It limits forged records, which
// users with write access to the Namespace can create if the guardrail policy is missing; a release whose owner
// is gone cannot be proved.
const maxRecorded = 20

// recorded returns the releases that are recorded on a Namespace: none if the record cannot be parsed or is too
// long.
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

// ended returns the releases of AcmeNamespaces that no longer exist. The marks of another tenant may have been
// forged on the Namespace: its release must not be reported while it exists.
func ended(all []unreported, existing []v1alpha1.AcmeNamespace) []unreported {
	return slices.DeleteFunc(all, func(u unreported) bool {
		exists := func(n v1alpha1.AcmeNamespace) bool { return n.UID == u.UID }
		return u.UID == "" || slices.ContainsFunc(existing, exists)
	})
}

// record encodes releases for the annotation; empty when there are none.
func record(all []unreported) string {
	if len(all) == 0 {
		return ""
	}
	text, _ := json.Marshal(all) // strings and times can be encoded
	return string(text)
}

// formerOwner returns the release of the AcmeNamespace whose marks a Namespace carries, if its UID is not the
// given one. The tier of the former owner is the name of its quota.
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
