// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"encoding/json"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/internal/names"
)

func TestLedger(t *testing.T) {
	l := ledger{epoch: 7, revoking: podA, record: record{from: podA, reason: reasonRequested, at: noon, request: "sam"}}
	lease := &coordinationv1.Lease{}
	if err := l.write(lease); err != nil {
		t.Fatal(err)
	}
	if l.exists = true; readLedger(lease, "") != l {
		t.Errorf("%+v is read as %+v", l, readLedger(lease, ""))
	}
	l.epoch = maxEpoch + 1
	if err := l.write(lease); err == nil || !strings.Contains(err.Error(), "the epoch 2147483648 is too large, so somebody has set it; delete this LeaderElection") {
		t.Errorf("an epoch that no Lease can have: %v", err)
	}
}

func TestADamagedLedgerNamesNobody(t *testing.T) {
	for name, lease := range map[string]*coordinationv1.Lease{
		"no epoch":               {Spec: coordinationv1.LeaseSpec{HolderIdentity: new("a/uid-a")}},
		"a negative epoch":       {Spec: coordinationv1.LeaseSpec{LeaseTransitions: new(int32(-1))}},
		"a holder without a UID": {Spec: coordinationv1.LeaseSpec{LeaseTransitions: new(int32(3)), HolderIdentity: new("a")}},
		"an empty holder":        {Spec: coordinationv1.LeaseSpec{LeaseTransitions: new(int32(3)), HolderIdentity: new("")}},
		"two pods": {
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationRevoking: "b/uid-b"}},
			Spec:       coordinationv1.LeaseSpec{LeaseTransitions: new(int32(3)), HolderIdentity: new("a/uid-a")},
		},
	} {
		if l := readLedger(lease, ""); !l.damaged || l.holder != (identity{}) || l.revoking != (identity{}) {
			t.Errorf("%s: %+v", name, l)
		}
	}
}

// TestAForgedLedger: a ledger that somebody else has written has no text that is longer, or other, than what the operator writes.
func TestAForgedLedger(t *testing.T) {
	long := strings.Repeat("x", 1000)
	lease := func(holder, from, reason, request string) *coordinationv1.Lease {
		text, err := json.Marshal(lastText{From: from, Reason: reason, Request: request})
		if err != nil {
			t.Fatal(err)
		}
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationLast: string(text)}},
			Spec:       coordinationv1.LeaseSpec{LeaseTransitions: new(int32(3)), HolderIdentity: new(holder)},
		}
	}
	for name, l := range map[string]*coordinationv1.Lease{
		"a name":       lease(long+"/uid-a", "a/uid-a", reasonGone, ""),
		"a UID":        lease("a/"+long, "a/uid-a", reasonGone, ""),
		"no name":      lease("a\nb/uid-a", "a/uid-a", reasonGone, ""),
		"an odd UID":   lease("a/uid\x1b[2J", "a/uid-a", reasonGone, ""),
		"a right name": lease("a/uid-a", "a/uid-a", reasonGone, ""),
	} {
		if damaged := readLedger(l, "").damaged; damaged != (name != "a right name") {
			t.Errorf("a ledger with %s: damaged is %t", name, damaged)
		}
	}
	l := readLedger(lease("a/uid-a", long+"/uid-b", long, long), "")
	if l.reason != "" || l.from != (identity{}) || len(l.request) > names.MaxRequest {
		t.Errorf("%+v", l.record)
	}
	l = readLedger(lease("a/uid-a", "b/uid-b", "Forged", "sam"), "")
	if want := (record{from: identity{"b", "uid-b"}, request: "sam"}); l.record != want {
		t.Errorf("%+v, want %+v", l.record, want)
	}
	if text := holderText(lease(long, "", "", "")); len(text) > maxHolder+len("…") {
		t.Errorf("a message has %d bytes of the holder", len(text))
	}
}

// TestALedgerOfAFormerObject: a Lease that an object has left names nobody for the next one of its name. Its epoch counts.
func TestALedgerOfAFormerObject(t *testing.T) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{names.LabelOwnerUID: "former"}}}
	lease.Spec = coordinationv1.LeaseSpec{LeaseTransitions: new(int32(3)), HolderIdentity: new("a/uid-a")}
	if l := readLedger(lease, "former"); l.damaged || l.holder != podA {
		t.Errorf("its own: %+v", l)
	}
	if l := readLedger(lease, "next"); !l.damaged || l.holder != (identity{}) || l.epoch != 3 {
		t.Errorf("that of the former one: %+v", l)
	}
}

func TestAnEmptyLedgerIsNotDamaged(t *testing.T) {
	if got := readLedger(&coordinationv1.Lease{}, ""); got != (ledger{exists: true, empty: true}) {
		t.Errorf("%+v", got)
	}
	revoking := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationRevoking: "b/uid-b"}}}
	if l := readLedger(revoking, ""); !l.damaged || l.revoking != (identity{}) {
		t.Errorf("one that names a pod, and has no epoch: %+v", l)
	}
}

func TestMarks(t *testing.T) {
	for text, want := range map[string]mark{
		"leader 7": {markLeader, 7}, "fenced 7": {markFenced, 7}, "former 7": {markFormer, 7}, "leader 2147483647": {markLeader, maxEpoch},
		"": {}, "leader": {}, "leader x": {}, "leader 0": {}, "leader -1": {}, "leader 2147483648": {}, "leader 99999999999999999999": {}, "king 7": {}, "leader 7 8": {},
	} {
		if got := parseMark(text); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
		if want != (mark{}) && want.String() != text {
			t.Errorf("%+v is written %q", want, want)
		}
	}
}
