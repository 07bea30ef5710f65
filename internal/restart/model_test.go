// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
)

// The model explores, breadth first, every order in which content changes, sources come and go, the operator runs
// and is killed before and after each of its writes, and others roll, undo, make and delete workloads. The decisions
// are those of the package; a write is one change of the model's world. While a workload rolls for a restart, one of its
// pods may start late, with what its sources hold then.
//
// Content changes and changes back unseen only while the operator is away: between two readings of an operator that runs,
// nobody can know of it.

// model is what a search begins with and what it may do.
type model struct {
	watchers, workloads              int
	changes, outages, crashes, rolls int // how many of each
	absences, touches                int // how often the operator is away, and sources are written without a change
	maxConcurrent                    int
	// shared: all watchers read one source, each at moments of its own, and have a debounce. Each content is seen by one of
	// them at least before it changes.
	shared bool
	// lateStarts: pods may start late also when the operator is never away.
	lateStarts bool
	// The mutants.
	marksOfContent    bool // marks without a number, as in version 0.1.0
	absenceUnchanged  bool // a source that is not seen has the baseline's value
	startUnwritten    bool // workloads are patched before the start is recorded
	undoesBlindly     bool // a change that is undone is dropped whatever has rolled
	trustsLateCaches  bool // a cache that is late may show that a workload has not rolled
	forgetsWrites     bool // when sources were written is not recorded
	countsAllWrites   bool // a source that is written counts as changed, also while the operator runs
	peersWithoutCheck bool // marks of peers are set without regard to their number and to the workload's version
	keepsTemplates    bool // templates that one watcher has read hold for other content, too
	trustsFirstSeen   bool // and although another one has seen something else in between
}

// world is one state.
type world struct {
	Content, Seen []int  // of each watcher's source: what it holds, and what was last observed
	Base          []int  // and what it held when the watcher was last settled
	Written       []int  // how often it was written
	Read          []int  // how often it was when the watcher read it last
	Unattended    []bool // the operator has not seen it since it is back
	Away          bool
	Absences      int
	Touches       int
	Doubts        int     // how often a source was written without a change before the operator saw it again
	Confirmed     []int64 // what the operator remembers until it is killed
	Lost          []bool
	Status        []*common.RestartStatus
	Before        []*common.RestartStatus // as a late cache shows it to peers
	Loads         []load
	Changes       int
	Outages       int
	Crashes       int
	Rolls         int
	Made          int
	Unsure        int      // how often a workload was restarted that was seen in a late cache, or rolling
	Shared        *reading // of the source that is shared, as long as the operator is not killed
}

// load is a workload.
type load struct {
	UID, Template int
	Marks         map[int]string // by watcher
	Runs          []int          // the content that its pods have read, by source
	Restarts      int            // by the operator
	Undone        int            // how often others took marks off
	Rolling       bool
	Generation    int64
	Was           *load // the version before: that of a late cache, and of an undo
}

func (w world) clone() world {
	out := w
	out.Shared = new(*w.Shared)
	out.Shared.Templates = maps.Clone(w.Shared.Templates)
	out.Content, out.Seen, out.Lost = slices.Clone(w.Content), slices.Clone(w.Seen), slices.Clone(w.Lost)
	out.Status, out.Before = slices.Clone(w.Status), slices.Clone(w.Before)
	out.Written, out.Read, out.Unattended = slices.Clone(w.Written), slices.Clone(w.Read), slices.Clone(w.Unattended)
	out.Base, out.Confirmed, out.Loads = slices.Clone(w.Base), slices.Clone(w.Confirmed), slices.Clone(w.Loads)
	return out
}

// roll gives a workload another template and new pods.
func (w *world) roll(i int, template int, marks map[int]string, byOperator bool) {
	was := w.Loads[i]
	was.Was = nil
	l := load{UID: was.UID, Template: template, Marks: marks, Runs: slices.Clone(w.Content), Restarts: was.Restarts, Undone: was.Undone, Generation: was.Generation + 1, Was: &was}
	if byOperator {
		l.Restarts++
		l.Rolling = true
	}
	w.Loads[i] = l
}

// state is how the operator sees a workload.
func (l load) state(watcher int) state {
	return state{
		id:   common.RestartedWorkload{Kind: "Deployment", UID: types.UID(fmt.Sprint(l.UID)), Generation: l.Generation},
		mark: l.Marks[watcher], template: fmt.Sprint(l.Template, l.Marks), rolling: l.Rolling, behind: l.Rolling, byItself: true,
	}
}

func (w world) states(watcher int, late bool) []state {
	var all []state
	for _, l := range w.Loads {
		if late && l.Was != nil {
			l = *l.Was
		}
		all = append(all, l.state(watcher))
	}
	return all
}

var (
	modelKeys = []Key{KeyOf([]byte(strings.Repeat("k", keySize)), "0"), KeyOf([]byte(strings.Repeat("k", keySize)), "1")}
	modelSeen = func() (all [2][3]Observation) {
		for i := range all {
			for c := range all[i] {
				all[i][c] = Observation{Source: "ConfigMap/c", Hash: modelKeys[i].Hash([]byte{byte(c)})}
			}
		}
		return all
	}()
)

// read is what a watcher reads of its source.
func (m model) read(w world, i int) Observation {
	o := modelSeen[i][w.Content[i]]
	o.unattended = w.Unattended[i] || m.countsAllWrites
	if !m.forgetsWrites {
		o.Written = fmt.Sprint(w.Written[i])
	}
	return o
}

// how is one way in which a run may go.
type how struct {
	now   bool // a restart that waits has its time come
	blind bool // what is read was read a moment ago
	late  bool // the cache of workloads and peers is one version behind
}

// run is one run of a watcher: the worlds after each of its writes.
func (m model) run(w world, i int, h how) []world {
	key, s := modelKeys[i], w.Status[i].DeepCopy()
	after := w.clone()
	var seen []Observation
	switch {
	case !w.Lost[i] && !h.blind:
		seen = []Observation{m.read(w, i)}
		after.Seen[i], after.Unattended[i] = w.Content[i], false
		after.Read[i] = w.Written[i]
		after.Shared = m.share(after.Shared, seen[0])
	case m.absenceUnchanged:
		seen = []Observation{modelSeen[i][w.Base[i]]}
	}
	f := facts{confirmed: m.undoesBlindly || s.Number == 0 || w.Confirmed[i] == s.Number}
	r := revise(key, s, seen, noon)
	if r.replaces(s.Pending) && !m.undoesBlindly {
		f.rolled = anyRolled(s.Pending, w.states(i, h.late && m.trustsLateCaches))
	}
	plan(key, s, r, f, noon)
	if s.Pending == nil && len(seen) > 0 && !slices.ContainsFunc(w.Loads, func(l load) bool { return l.Rolling }) {
		after.Confirmed[i] = s.Number
	}
	if m.marksOfContent && s.Pending != nil && !s.Pending.Started {
		s.Pending.Mark = markOf(key, 1, s.Pending.Target)
	}
	var worlds []world
	if s.Pending != nil {
		worlds = m.restart(&after, i, s, h)
	}
	s.History, s.Recent, s.Restarts = nil, nil, 0
	last := after.clone()
	last.Before[i], last.Status[i] = w.Status[i], s
	if s.Pending == nil {
		last.Before[i], last.Base[i] = s, last.Seen[i]
	}
	return append(worlds, last)
}

// share is what is known of the source that all watchers share after one of them has read it.
func (m model) share(was *reading, seen Observation) *reading {
	is := was.found(seen.Hash.old, 1, 0)
	switch {
	case m.keepsTemplates && was.Templates != nil:
		is.Templates = was.Templates
	case m.trustsFirstSeen && is != was && was.Hash != "" && len(was.Templates) > 0:
		return was
	}
	return is
}

// restart does what execute does.
func (m model) restart(w *world, i int, s *common.RestartStatus, h how) (worlds []world) {
	p := s.Pending
	if !p.Started {
		if !h.now || m.shared && p.Templates == nil {
			if p.Templates == nil {
				recordTemplates(s, w.states(i, false))
				if m.shared && w.Shared.Hash == modelSeen[i][w.Seen[i]].Hash.old {
					w.Shared.share(p.Templates)
				}
			}
			return nil
		}
		begin(s, "", noon)
		if p.Templates == nil && !m.startUnwritten {
			return nil
		}
	}
	states := w.states(i, h.late)
	for _, l := range states {
		if l.mark == p.Mark {
			reach(s, l.id)
		}
	}
	t := turn(s, states, m.maxConcurrent)
	for _, n := range t.now {
		was := template(p, states[n].id.UID)
		sure := !h.late && was != nil && was.Template != ""
		if m.patch(w, i, n, p.Mark, h.late) {
			if m.shared && !sure {
				w.Unsure++
			}
			worlds = append(worlds, w.clone())
		}
		id := states[n].id
		id.Generation = w.Loads[n].Generation
		reach(s, id)
	}
	if t.done() {
		settle(s)
	}
	return worlds
}

// patch sets the mark of a watcher, and those of its peers.
func (m model) patch(w *world, i, n int, mark string, late bool) (changed bool) {
	l := w.Loads[n]
	marks := maps.Clone(l.Marks)
	marks[i] = mark
	stale := late && l.Was != nil // then the version that was seen is not the latest, and the marks of peers stay away
	for j := range w.Status {
		p := w.Status[j].Pending
		if late {
			p = w.Before[j].Pending
		}
		if j == i || p == nil {
			continue
		}
		if m.peersWithoutCheck || !stale && numberOf(p.Mark) > numberOf(l.Marks[j]) {
			marks[j] = p.Mark
		}
	}
	if maps.Equal(marks, l.Marks) {
		return false
	}
	w.roll(n, l.Template, marks, true)
	return true
}

// next are all worlds that may follow.
func (m model) next(w world) []world {
	var all []world
	if w.Away {
		back := w.clone()
		back.Away = false
		all = append(all, back)
	} else {
		all = m.operator(w)
		if w.Absences < m.absences {
			gone := w.killed()
			gone.Absences++
			all = append(all, gone)
		}
	}
	for i := range w.Content {
		all = append(all, m.writes(w, i)...)
		if w.Lost[i] || w.Outages < m.outages {
			x := w.clone()
			x.Lost[i] = !w.Lost[i]
			if x.Lost[i] {
				x.Outages++
			}
			all = append(all, x)
		}
	}
	seen := slices.Equal(w.Seen, w.Content)
	for n, l := range w.Loads {
		if l.Rolling {
			ended, late := w.clone(), w.clone()
			ended.Loads[n].Rolling = false
			all = append(all, ended)
			if m.absences > 0 || m.lateStarts {
				late.Loads[n].Runs = slices.Clone(w.Content)
				all = append(all, late)
			}
		}
		if seen && w.Rolls < m.rolls {
			all = append(all, m.others(w, n)...)
		}
	}
	return all
}

// killed is the world without the operator, which forgets what it had in memory.
func (w world) killed() world {
	x := w.clone()
	x.Away, x.Confirmed, x.Shared = true, make([]int64, len(w.Confirmed)), &reading{}
	for i := range x.Unattended {
		x.Unattended[i] = true
	}
	return x
}

// writes are the worlds after a write of a source.
func (m model) writes(w world, i int) (all []world) {
	unattended := w.Away || w.Unattended[i]
	seen := w.Seen[i] == w.Content[i]
	if m.shared {
		seen = slices.Contains(w.Read, w.Written[i])
	}
	if m.shared && i > 0 || !seen && (!unattended || m.absences == 0) {
		return nil
	}
	write := func(content int) *world {
		x := w.clone()
		for j := range x.Content {
			if j == i || m.shared {
				x.Content[j] = content
				x.Written[j]++
			}
		}
		all = append(all, x)
		return &all[len(all)-1]
	}
	contents := 3
	if m.lateStarts {
		contents = 2
	}
	for c := range contents {
		if c != w.Content[i] && w.Changes < m.changes {
			write(c).Changes++
		}
	}
	if w.Touches < m.touches {
		write(w.Content[i]).Touches++
	}
	return all
}

// operator are the worlds after one run of each watcher, killed after any of its writes or not at all.
func (m model) operator(w world) []world {
	var all []world
	for i := range w.Status {
		for _, h := range []how{{}, {now: true}, {now: true, blind: true}, {now: true, late: true}} {
			if m.lateStarts && (h.late || h.blind) { // there would be very many worlds
				continue
			}
			worlds := m.run(w, i, h)
			all = append(all, worlds[len(worlds)-1])
			if w.Crashes < m.crashes {
				for _, killed := range worlds[:len(worlds)-1] {
					killed = killed.killed()
					killed.Crashes++
					killed.Seen = slices.Clone(w.Seen)
					all = append(all, killed)
				}
			}
		}
	}
	return all
}
