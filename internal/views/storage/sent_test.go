// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import "testing"

func TestSentAnswersAreBounded(t *testing.T) {
	sent := newSentAnswers(10)
	for i := range 100 {
		sent.put(answerID{byte(i)}, sentRows{"a": {}, "b": {}})
	}
	if len(sent.answers) != 3 || sent.rows != 9 || sent.recent.Len() != 3 {
		t.Errorf("%d answers with %d rows are kept", len(sent.answers), sent.rows)
	}
	if _, ok := sent.get(answerID{99}); !ok {
		t.Error("the last answer is forgotten")
	}
	sent.get(answerID{97})
	sent.put(answerID{100}, sentRows{"a": {}, "b": {}})
	if _, ok := sent.get(answerID{97}); !ok {
		t.Error("an answer that was used is forgotten before others")
	}
	if _, ok := sent.get(answerID{98}); ok {
		t.Error("the oldest answer is kept")
	}
}
