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

// maxSentRows is how many rows all remembered answers have together.
const maxSentRows = 200_000

// sentRow is what a client knows of a row.
type sentRow struct {
	uid    types.UID
	sum    uint64
	labels map[string]string
}

// sentRows are an answer before selectors, by name. It is shared, and must not be changed.
type sentRows map[string]sentRow

func sentRowsOf(all []rows.Row) sentRows {
	t := make(sentRows, len(all))
	for _, r := range all {
		t[r.GetName()] = sentRowOf(r)
	}
	return t
}

func sentRowOf(r rows.Row) sentRow {
	return sentRow{uid: r.GetUID(), sum: r.Sum, labels: r.GetLabels()}
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

// sentAnswers record what was sent to users, so that a watch can resume from there although rows have changed. Without a record the
// answer is 410, and clients list again.
type sentAnswers struct {
	mu      sync.Mutex
	max     int
	rows    int
	answers map[answerID]*list.Element
	recent  *list.List // the latest first
}

type answer struct {
	id   answerID
	rows sentRows
}

// weight counts an answer without rows too.
func (a *answer) weight() int { return len(a.rows) + 1 }

func newSentAnswers(size int) *sentAnswers {
	return &sentAnswers{max: size, answers: map[answerID]*list.Element{}, recent: list.New()}
}

func (s *sentAnswers) put(id answerID, r sentRows) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.answers[id]; ok {
		s.recent.MoveToFront(e)
		return
	}
	a := &answer{id: id, rows: r}
	s.answers[id] = s.recent.PushFront(a)
	s.rows += a.weight()
	for s.rows > s.max {
		oldest := s.recent.Remove(s.recent.Back()).(*answer)
		delete(s.answers, oldest.id)
		s.rows -= oldest.weight()
	}
}

func (s *sentAnswers) get(id answerID) (sentRows, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e, ok := s.answers[id]
	if !ok {
		return nil, false
	}
	s.recent.MoveToFront(e)
	return e.Value.(*answer).rows, true
}
