// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package storage

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/acme/platform-operator/internal/views/access"
	"github.com/acme/platform-operator/internal/views/places"
	"github.com/acme/platform-operator/internal/views/rows"
	"github.com/acme/platform-operator/internal/views/source"
)

const (
	// A watch ends after ten minutes, more or less: groups that the identity provider took away count until then.
	shortestWatch = 8 * time.Minute
	watchJitter   = 0.5
	// bookmarkInterval is how often a watch without events has a bookmark.
	bookmarkInterval = time.Minute
	// checkInterval is how often a watch checks that its source is not out of date.
	checkInterval = 10 * time.Second
	// roomStep is for how many more rows a watch makes room at least.
	roomStep = 100
)

// Watch streams what changes for the user: a row that becomes visible is added, one that is no longer visible, or no longer matches,
// is deleted. Intermediate states may be left out.
func (s *Storage) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	u, err := s.user(ctx)
	if err != nil {
		return nil, err
	}
	m, err := matcherOf(options)
	if err != nil {
		return nil, err
	}
	w := &watcher{
		Storage: s, user: u, match: m, bookmarks: options.AllowWatchBookmarks, events: make(chan watch.Event),
	}
	if !w.take(s.watches, 1) {
		return nil, tooManyWatches(s.watches.Exhausted(u.Name, 1))
	}
	err = w.start(ctx, options)
	if n := len(w.known) + len(w.pending); err == nil && !w.makeRoom(n) {
		err = tooManyRows(s.watchedRows.Exhausted(u.Name, max(n, roomStep)))
	}
	if err != nil {
		w.free()
		return nil, err
	}
	ctx, w.stop = context.WithCancel(ctx)
	go w.run(ctx)
	return w, nil
}

// tooManyWatches rejects a watch because of the limit of its user, or else that of all.
func tooManyWatches(own bool) error {
	if own {
		return tooMany("you have %d watches, the most for one user (the service accounts of a namespace count as one); "+
			"end some that you no longer need, and try again", maxWatchesOfOne)
	}
	return tooMany("this server has %d watches, the most that it serves; try again later, or list instead", MaxWatches)
}

// tooManyRows rejects a watch because of the limit of its user, or else that of all.
func tooManyRows(own bool) error {
	if own {
		return tooMany("your watches would have more than %d rows, the most for one user (the service accounts of a namespace count as one); "+
			"end some that you no longer need, and try again", maxWatchedRowsOfOne)
	}
	return tooMany("the watches of this server would have more than %d rows, the most that it serves; try again later, or list instead",
		maxWatchedRows)
}

func tooMany(format string, most int) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf(format, most), 1)
}

// watcher compares what its client knows with the newest snapshot, whenever there is one. It keeps no queue of events: a client that
// reads slowly misses intermediate states, and nothing grows.
type watcher struct {
	*Storage
	user      access.User
	match     matcher
	bookmarks bool

	now *source.Snapshot
	// known is what the client knows, before selectors: rows that do not match are in it too.
	known       sentRows
	fingerprint rows.Fingerprint
	// pending are the names of the rows to compare, sorted.
	pending []string
	// initial is true until the bookmark at the end of the initial events is sent.
	initial bool
	// marked is the fingerprint in the last bookmark, and due is true when it is time for another.
	marked rows.Fingerprint
	due    bool

	events chan watch.Event
	stop   context.CancelFunc
	// frees give back what was taken, and room is for how many rows there is room.
	frees []func()
	room  int
}

// take takes places until the end of the watch.
func (w *watcher) take(from *places.Places, n int) bool {
	free, ok := from.Take(w.user.Name, n)
	if ok {
		w.frees = append(w.frees, free)
	}
	return ok
}

// free gives back all places.
func (w *watcher) free() {
	for _, free := range w.frees {
		free()
	}
}

// makeRoom makes room for some rows, by large steps. False if there is none.
func (w *watcher) makeRoom(rows int) bool {
	if rows <= w.room {
		return true
	}
	more := max(rows-w.room, w.room/2, roomStep)
	if !w.take(w.watchedRows, more) {
		return false
	}
	w.room += more
	return true
}

// ResultChan has the events.
func (w *watcher) ResultChan() <-chan watch.Event { return w.events }

// Stop ends the watch.
func (w *watcher) Stop() { w.stop() }

// start finds out what the client knows.
func (w *watcher) start(ctx context.Context, o *internalversion.ListOptions) error {
	var err error
	fromStart := o.SendInitialEvents != nil && *o.SendInitialEvents
	anywhere := o.ResourceVersion == "" || o.ResourceVersion == "0"
	if fromStart || anywhere {
		if w.now, err = w.notOlderThan(ctx, w.user, o.ResourceVersion); err != nil {
			return err
		}
		if fromStart || o.SendInitialEvents == nil {
			w.setKnown(sentRows{})
			w.pending, w.initial = w.view.names(w.now, w.user), fromStart && w.bookmarks
			return nil
		}
		w.setKnown(sentRowsOf(w.view.all(w.now, w.user)))
		return nil
	}
	v, err := parse(o.ResourceVersion)
	if err != nil {
		return err
	}
	return w.resume(ctx, v)
}

// resume continues from a version that the client has: nothing has changed since, or what was sent to the client is known. A version of
// a replica that has read further is waited for first: a client that has seen the end of a right must not be sent its beginning.
func (w *watcher) resume(ctx context.Context, v rows.Version) error {
	if w.now = w.Reader.Now(); v.Horizon > w.now.Horizon {
		w.now, _ = w.await(ctx, v.Horizon)
	}
	if w.resumeFrom(v) {
		return nil
	}
	return expired()
}

func (w *watcher) resumeFrom(v rows.Version) bool {
	w.setKnown(sentRowsOf(w.view.all(w.now, w.user)))
	if w.fingerprint == v.Fingerprint {
		return true
	}
	r, ok := w.sent.get(w.identity(w.user, v.Fingerprint))
	if ok {
		w.setKnown(maps.Clone(r))
		w.compareAll()
	}
	return ok
}

// setKnown sets what the client knows.
func (w *watcher) setKnown(r sentRows) {
	w.known, w.fingerprint = r, rows.NewFingerprint(w.view.Resource)
	for _, t := range r {
		w.fingerprint = w.fingerprint.Toggle(t.sum)
	}
	w.marked = w.fingerprint
}

// compareAll has all rows compared: those that the user may be able to see, and those that the client knows. No other can differ.
func (w *watcher) compareAll() {
	w.pending = slices.AppendSeq(w.view.names(w.now, w.user), maps.Keys(w.known))
	slices.Sort(w.pending)
	w.pending = slices.Compact(w.pending)
}

// compare has more rows compared, of some that changed. Those that do not concern the client are left out: for a client that reads
// slowly, all that changes in the cluster would be kept, and sorted again after each change.
func (w *watcher) compare(names []string) {
	for _, name := range names {
		if _, known := w.known[name]; !known && !w.view.visible(w.now, w.user, name) {
			continue
		}
		if i, found := slices.BinarySearch(w.pending, name); !found {
			w.pending = slices.Insert(w.pending, i, name)
		}
	}
}

// advance takes the newest snapshot.
func (w *watcher) advance() {
	before := w.now
	w.now = w.Reader.Now()
	changes, known := w.now.Since(before)
	if !known {
		w.compareAll()
		return
	}
	for _, c := range changes {
		w.compare(w.view.changed(c))
	}
}

// catchUp takes the newest snapshot, if there is one: a client that is ready to read must not get an older event.
func (w *watcher) catchUp() {
	select {
	case <-w.now.Superseded():
		w.advance()
	default:
	}
}

// run sends events until the client goes, or its time is up. While an event cannot be sent, each newer snapshot replaces it.
func (w *watcher) run(ctx context.Context) {
	defer close(w.events)
	defer w.free()
	defer w.remember()
	end := w.Clock.NewTimer(wait.Jitter(shortestWatch, watchJitter))
	defer end.Stop()
	minute := w.Clock.NewTicker(bookmarkInterval)
	defer minute.Stop()
	check := w.Clock.NewTicker(checkInterval)
	defer check.Stop()
	for {
		w.catchUp()
		event, sent := w.next()
		select {
		case w.output(sent != nil) <- event:
			sent()
			if !w.makeRoom(len(w.known)) { // the client watches again, and is rejected with a reason
				return
			}
		case <-w.now.Superseded(): // the next turn catches up
		case <-minute.C():
			w.due = true
		case <-check.C():
			if w.Reader.Check() != nil { // rights that were taken away may be unknown here
				return
			}
		case <-end.C():
			return
		case <-ctx.Done():
			return
		}
	}
}

// output is the channel of events, or nil if there is none to send.
func (w *watcher) output(sending bool) chan<- watch.Event {
	if sending {
		return w.events
	}
	return nil
}

// remember keeps what the client knows for its next watch, if it has the version of that.
func (w *watcher) remember() {
	if w.bookmarks && w.marked == w.fingerprint {
		w.sent.put(w.identity(w.user, w.fingerprint), w.known)
	}
}

// next is the next event, with what to do once it is sent. Both are nil if the client knows everything.
func (w *watcher) next() (watch.Event, func()) {
	for len(w.pending) > 0 {
		name := w.pending[0]
		event, learn, more := w.difference(name)
		settle := func() {
			if learn != nil {
				learn()
			}
			if !more {
				w.pending = w.pending[1:]
			}
		}
		if event.Object != nil {
			return event, settle
		}
		settle()
	}
	if w.bookmarks && (w.initial || w.due || w.marked != w.fingerprint) {
		return w.bookmark()
	}
	return watch.Event{}, nil
}

// difference compares one row with what the client knows. There is no event if the client need not see the difference; more is
// true if there is another difference.
func (w *watcher) difference(name string) (event watch.Event, learn func(), more bool) {
	before, had := w.known[name]
	row, visible := w.view.row(w.now, w.user, name)
	if had && (!visible || row.GetUID() != before.uid) {
		if w.match.matches(name, before.labels) {
			event = w.deleted(name, before)
		}
		return event, func() { w.forget(name, before) }, visible
	}
	if !visible || had && before.sum == row.Sum {
		return event, nil, false
	}
	return w.changed(name, before, had, row), func() {
		if had {
			w.forget(name, before)
		}
		w.known[name] = sentRowOf(row)
		w.fingerprint = w.fingerprint.Toggle(row.Sum)
	}, false
}

// changed is the event about a row that is new to the client, or differs from what it knows.
func (w *watcher) changed(name string, before sentRow, had bool, row rows.Row) watch.Event {
	matched, matches := had && w.match.matches(name, before.labels), w.match.matches(name, row.GetLabels())
	switch {
	case matched && matches:
		return watch.Event{Type: watch.Modified, Object: row.Object}
	case matches:
		return watch.Event{Type: watch.Added, Object: row.Object}
	case matched:
		return w.deleted(name, before)
	}
	return watch.Event{}
}

func (w *watcher) forget(name string, t sentRow) {
	delete(w.known, name)
	w.fingerprint = w.fingerprint.Toggle(t.sum)
}

// deleted reports no more than that a row is gone: the client may no longer see more.
func (w *watcher) deleted(name string, t sentRow) watch.Event {
	o := w.view.object()
	o.SetName(name)
	o.SetUID(t.uid)
	o.SetResourceVersion(rows.Tombstone(w.now.Horizon, t.sum))
	return watch.Event{Type: watch.Deleted, Object: o}
}

// bookmark has the version from which a watch can resume: those of rows are none.
func (w *watcher) bookmark() (watch.Event, func()) {
	o := w.view.object()
	o.SetResourceVersion(rows.Version{Horizon: w.now.Horizon, Fingerprint: w.fingerprint}.String())
	if w.initial {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return watch.Event{Type: watch.Bookmark, Object: o}, func() { w.initial, w.due, w.marked = false, false, w.fingerprint }
}
