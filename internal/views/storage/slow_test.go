// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/places"
)

// A client that reads slowly costs what it may see, and not what others do.
func TestASlowWatchRemembersOnlyWhatItsUserMaySee(t *testing.T) {
	for _, lag := range []int{5, 62, 63, 64, 200} { // within the changes that are remembered, and beyond them
		c, _, s := fixture()
		c.set("1", "b", "x", "sam")
		w := &watcher{Storage: s, user: access.NewUser("sam", nil), now: c.Now()}
		w.setKnown(sentRowsOf(w.view.all(w.now, w.user)))
		for i := range lag {
			c.set("2", fmt.Sprintf("other-%d", i), "x", "kim")
		}
		c.set("3", "a", "x", "sam")
		w.advance()
		c.set("1", "b", "x", "kim") // sam does not see it any more, but knows it
		c.set("4", "c", "x", "sam")
		w.advance()
		c.set("3", "a", "y", "sam") // it is compared once
		w.advance()
		if diff := cmp.Diff([]string{"a", "b", "c"}, w.pending); diff != "" {
			t.Errorf("after %d changes: %s", lag, diff)
		}
	}
}

// wantTooMany compares why a watch is rejected.
func wantTooMany(t *testing.T, err error, reason string) {
	t.Helper()
	if !apierrors.IsTooManyRequests(err) || !strings.Contains(err.Error(), reason) {
		t.Errorf("the error is not that %s: %v", reason, err)
	}
}

func TestRowsOfWatchesAreLimited(t *testing.T) {
	t.Cleanup(func() { goleak.VerifyNone(t) })
	c, _, s := fixture()
	s.watchedRows = places.New(600, 299)
	grow := func(name string, rows int, users ...string) {
		for i := range rows {
			c.set("1", fmt.Sprintf("%s-%d", name, i), "x", users...)
		}
	}
	grow("first", 101, "sam", "kim")
	open := func(user string) (watch.Interface, error) {
		return s.Watch(as(user), &internalversion.ListOptions{ResourceVersion: listVersion(t, s, user)})
	}
	var all []watch.Interface
	for _, user := range []string{"sam", "sam", "kim", "kim"} {
		w, err := open(user)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	_, err := open("sam")
	wantTooMany(t, err, "your watches would have more than 200000 rows")
	grow("third", 199, "tom")
	_, err = open("tom")
	wantTooMany(t, err, "the watches of this server would have more than 1000000 rows")
	grow("second", 201, "sam")  // for one watch of sam's these are too many, even when there is no other
	for _, w := range all[:2] { // they end by themselves
		sent := 0
		for range w.ResultChan() {
			if sent++; sent == 201 {
				t.Error("a watch sends all rows")
				w.Stop()
			}
		}
	}
	_, ofSam := s.watchedRows.Taken("sam")
	_, ofKim := s.watchedRows.Taken("kim")
	if watches, _ := s.watches.Taken(""); ofSam != 0 || ofKim != 202 || watches != 2 {
		t.Errorf("%d and %d rows are counted, and %d watches", ofSam, ofKim, watches)
	}
	for _, w := range all[2:] {
		w.Stop()
		for range w.ResultChan() {
		}
	}
	if left, _ := s.watchedRows.Taken(""); left != 0 {
		t.Errorf("%d rows are counted after all watches", left)
	}
}
