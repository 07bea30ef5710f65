// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/coordination/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// maxEpoch is the largest number that a Lease may have.
const maxEpoch = math.MaxInt32

// text is how a pod is written in the Lease.
func (id identity) text() string { return id.name + "/" + id.uid }

// parseIdentity is the reverse of text. It rejects what is no name and UID of a pod: a tenant may have written it, and it becomes part of
// messages.
func parseIdentity(text string) (identity, bool) {
	name, uid, ok := strings.Cut(text, "/")
	if !ok || len(validation.IsDNS1123Subdomain(name)) > 0 || !uids.MatchString(uid) {
		return identity{}, false
	}
	return identity{name, uid}, true
}

// uids matches UIDs of pods. The API server makes those of 36 characters; a kubelet makes others.
var uids = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

// lastText is record as it is stored.
type lastText struct {
	From    string    `json:"from,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	At      time.Time `json:"at,omitzero"`
	Request string    `json:"request,omitempty"`
}

// readLedger reads the Lease of the object with a UID. What was written for a former object of the name is no ledger of this one: its
// epoch counts, and the pods that it names do not.
func readLedger(lease *coordinationv1.Lease, uid types.UID) ledger {
	l := ledger{exists: true, version: lease.ResourceVersion}
	if n := lease.Spec.LeaseTransitions; n != nil {
		l.epoch = int64(*n)
	}
	holder, ok := parseHolder(lease)
	l.holder = holder
	l.empty = isEmpty(lease)
	l.damaged = !ok || l.epoch < 1 && !l.empty || lease.Labels[names.LabelOwnerUID] != string(uid)
	if revoking, is := lease.Annotations[names.AnnotationRevoking]; is {
		l.revoking, ok = parseIdentity(revoking)
		l.damaged = l.damaged || !ok || l.empty || l.holder != identity{}
	}
	l.record = readRecord(lease.Annotations[names.AnnotationLast])
	if l.damaged {
		l.holder, l.revoking = identity{}, identity{}
	}
	return l
}

// parseHolder reads who leads; the zero identity if nobody does.
func parseHolder(lease *coordinationv1.Lease) (identity, bool) {
	if lease.Spec.HolderIdentity == nil {
		return identity{}, true
	}
	return parseIdentity(*lease.Spec.HolderIdentity)
}

// isEmpty reports whether nothing was written into a Lease since it was created.
func isEmpty(lease *coordinationv1.Lease) bool {
	return lease.Spec.HolderIdentity == nil && lease.Spec.LeaseTransitions == nil
}

// readRecord reads what write has written. What it has not counts as nothing: the reason is one of reasons or empty, and the request
// has at most names.MaxRequest bytes.
func readRecord(text string) (r record) {
	last := lastText{}
	if text != "" && json.Unmarshal([]byte(text), &last) == nil {
		r.from, _ = parseIdentity(last.From)
		r.at, r.request = last.At, names.Request(last.Request)
		if slices.Contains(reasons, last.Reason) {
			r.reason = last.Reason
		}
	}
	return r
}

// write puts a ledger into a Lease.
func (l ledger) write(lease *coordinationv1.Lease) error {
	last := lastText{Reason: l.reason, At: l.at, Request: l.request}
	if l.from != (identity{}) {
		last.From = l.from.text()
	}
	if l.epoch > maxEpoch {
		return fmt.Errorf("the epoch %d is too large, so somebody has set it; delete this LeaderElection, take its annotation %sNAME off the pods, "+
			"and create it again", l.epoch, names.LeaderMark(""))
	}
	lease.Spec = coordinationv1.LeaseSpec{LeaseTransitions: new(int32(l.epoch))} //nolint:gosec // at most maxEpoch
	if l.holder != (identity{}) {
		lease.Spec.HolderIdentity = new(l.holder.text())
	}
	text, err := json.Marshal(last)
	if err != nil {
		return err
	}
	annotations := lease.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationLast] = string(text)
	delete(annotations, names.AnnotationRevoking)
	if l.revoking != (identity{}) {
		annotations[names.AnnotationRevoking] = l.revoking.text()
	}
	lease.SetAnnotations(annotations)
	return nil
}

// foreign reports whether somebody else elects with the Lease: the operator sets none of these.
func foreign(lease *coordinationv1.Lease) bool {
	s := lease.Spec
	return s.RenewTime != nil || s.AcquireTime != nil || s.LeaseDurationSeconds != nil
}

// readLease reads the Lease from the API server. It blocks if it is not this object's.
func (r *run) readLease(ctx context.Context) (*coordinationv1.Lease, engine.Outcome, error) {
	lease := &coordinationv1.Lease{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: leaderName(r.Obj)}, lease)
	switch {
	case apierrors.IsNotFound(err):
		return nil, engine.Done(), nil
	case err != nil:
		return nil, engine.Outcome{}, fmt.Errorf("reading the Lease %s: %w", leaderName(r.Obj), err)
	case !r.isLedger(lease):
		return nil, r.Taken(lease), nil
	case foreign(lease):
		return nil, engine.BlockFor(recheck, ReasonLedgerTaken, fmt.Sprintf("the Lease %s, in which the leader is recorded, is renewed by somebody "+
			"else (%s); stop that, then delete the Lease: it is created again with a higher epoch", lease.Name, holderText(lease))), nil
	}
	return lease, engine.Done(), nil
}

// maxHolder is how many bytes of the holder of a Lease a message has.
const maxHolder = 100

func holderText(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return "without a name"
	}
	return names.Clip(*lease.Spec.HolderIdentity, maxHolder)
}

// isLedger reports whether the operator has made the Lease for an object of this name. Users who may create Leases can write the
// annotation and the owner reference, but not the label, which the guardrail policy keeps for the operator. Without an owner reference it
// is a Lease that has lost it, or that an object which was deleted with --cascade=orphan has left; the next write puts it back.
func (r *run) isLedger(lease *coordinationv1.Lease) bool {
	uid := lease.Labels[names.LabelOwnerUID]
	if metav1.GetControllerOfNoCopy(lease) != nil {
		return r.Owned(lease) && uid == string(r.Obj.UID)
	}
	return uid != "" && lease.Annotations[names.AnnotationOwner] == names.OwnerMark(Name, r.Obj)
}

// isMarked reports whether the Lease has all marks of this object.
func (r *run) isMarked(lease *coordinationv1.Lease) bool {
	return r.Owned(lease) && lease.Annotations[names.AnnotationOwner] == names.OwnerMark(Name, r.Obj) &&
		lease.Labels[names.LabelOwnerUID] == string(r.Obj.UID) && lease.Labels[names.LabelManagedBy] == names.Operator
}

// adopt puts the marks of this object on the Lease.
func (r *run) adopt(lease *coordinationv1.Lease) {
	metav1.SetMetaDataLabel(&lease.ObjectMeta, names.LabelManagedBy, names.Operator)
	metav1.SetMetaDataLabel(&lease.ObjectMeta, names.LabelOwnerUID, string(r.Obj.UID))
	metav1.SetMetaDataAnnotation(&lease.ObjectMeta, names.AnnotationOwner, names.OwnerMark(Name, r.Obj))
	if !r.Owned(lease) {
		lease.OwnerReferences = append(lease.OwnerReferences, *metav1.NewControllerRef(r.Obj, v1alpha1.GroupVersion.WithKind("LeaderElection")))
	}
}
