// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/rows"
)

// maxTold is how many rows all remembered answers have together.
const maxTold = 200_000

// toldRow is what a client knows of a row.
type toldRow struct {
	uid    types.UID
	sum    uint64
	labels map[string]string
}

// toldRows are an answer before selectors, by name. It is shared, and must not be changed.
type toldRows map[string]toldRow

func toldOf(all []rows.Row) toldRows {
	t := make(toldRows, len(all))
	for _, r := range all {
		t[r.GetName()] = toldOfRow(r)
	}
	return t
}

func toldOfRow(r rows.Row) toldRow {
	return toldRow{uid: r.GetUID(), sum: r.Sum, labels: r.GetLabels()}
}

// answerID is who got an answer, of which view, and what was in it.
type answerID [sha256.Size]byte

// identity makes the key of an answer. The user and the groups are part of it: nobody learns by a number what another has seen.
func (s *Storage) identity(u access.User, f rows.Fingerprint) answerID {
	h := sha256.New()
	for _, part := range append([]string{s.view.Resource, u.Name}, u.Groups...) {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		h.Write([]byte(part))
	}
	h.Write(binary.BigEndian.AppendUint64(nil, uint64(f)))
	return answerID(h.Sum(nil))
}

// told records what was sent to users, so that a watch can resume from there although rows have changed. Without it the answer is 410,
// and clients list again.
type told struct {
	mu      sync.Mutex
	max     int
	rows    int
	answers map[answerID]*list.Element
	recent  *list.List // the latest first
}

type answer struct {
	id   answerID
	rows toldRows
}

// weight counts an answer without rows too.
func (a *answer) weight() int { return len(a.rows) + 1 }

func newTold(size int) *told {
	return &told{max: size, answers: map[answerID]*list.Element{}, recent: list.New()}
}

func (t *told) put(id answerID, r toldRows) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.answers[id]; ok {
		t.recent.MoveToFront(e)
		return
	}
	a := &answer{id: id, rows: r}
	t.answers[id] = t.recent.PushFront(a)
	t.rows += a.weight()
	for t.rows > t.max {
		oldest := t.recent.Remove(t.recent.Back()).(*answer)
		delete(t.answers, oldest.id)
		t.rows -= oldest.weight()
	}
}

func (t *told) get(id answerID) (toldRows, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok := t.answers[id]
	if !ok {
		return nil, false
	}
	t.recent.MoveToFront(e)
	return e.Value.(*answer).rows, true
}
