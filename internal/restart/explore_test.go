// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	"github.com/acme/platform-operator/internal/testenv/limit"
)

// near is how many worlds of each model are explored where LABELS leaves out what is slow: all that take few steps to get to.
const near = 2000

// search explores so many worlds, the nearest first, and gives the shortest way to one that is wrong.
func (m model) search(t *testing.T, most int) (wrong string, way []string, worlds int) {
	t.Helper()
	first := world{
		Content: make([]int, m.watchers), Base: make([]int, m.watchers), Confirmed: make([]int64, m.watchers), Seen: make([]int, m.watchers), Lost: make([]bool, m.watchers),
		Written: make([]int, m.watchers), Read: make([]int, m.watchers), Unattended: make([]bool, m.watchers),
		Shared: &reading{}, Status: make([]*common.RestartStatus, m.watchers), Before: make([]*common.RestartStatus, m.watchers),
	}
	for i := range first.Status {
		first.Status[i], first.Before[i] = &common.RestartStatus{}, &common.RestartStatus{}
	}
	for n := range m.workloads {
		first.Loads = append(first.Loads, load{UID: n, Marks: map[int]string{}, Runs: make([]int, m.watchers)})
	}
	for i := range first.Status {
		worlds := m.run(first, i, how{})
		first = worlds[len(worlds)-1]
	}
	type visited struct {
		world
		from int
	}
	all, known := []visited{{first, -1}}, map[[sha256.Size]byte]bool{}
	for i := 0; i < min(len(all), most); i++ {
		if wrong := m.wrong(all[i].world); wrong != "" {
			for at := i; at >= 0; at = all[at].from {
				way = append([]string{string(text(t, all[at].world))}, way...)
			}
			return wrong, way, len(all)
		}
		for _, x := range m.next(all[i].world) {
			if name := sha256.Sum256(text(t, x)); !known[name] {
				known[name] = true
				all = append(all, visited{x, i})
			}
		}
	}
	return "", nil, len(all)
}

// others are the worlds after somebody else has rolled, undone, or created again a workload.
func (m model) others(w world, n int) []world {
	l := w.Loads[n]
	upgraded := w.clone()
	upgraded.roll(n, l.Template+1, l.Marks, false)
	all := []world{upgraded}
	if l.Was != nil {
		undone := w.clone()
		undone.roll(n, l.Was.Template, l.Was.Marks, false)
		undone.Loads[n].Undone++
		again := w.clone() // from a manifest that was read off it, with its marks
		again.Made++
		again.Loads[n] = load{UID: 100 + again.Made, Marks: l.Was.Marks, Runs: slices.Clone(w.Content), Restarts: l.Restarts, Undone: l.Undone + 1}
		all = append(all, undone, again)
	}
	for i := range all {
		all[i].Rolls++
	}
	return all
}

// wrong says what must not be.
func (m model) wrong(w world) string {
	rolling := 0
	for _, l := range w.Loads {
		// A mark that others take off before the operator could record it is set once more. A write that the operator
		// could not see may have been a change.
		killed := w.Absences + w.Crashes
		if m.shared { // each of the others restarts once more when nobody can tell that the first one has
			l.Restarts -= (len(w.Status)-1)*killed + w.Unsure
		}
		if l.Restarts > w.Changes+l.Undone+min(w.Touches, killed) {
			return fmt.Sprintf("%d restarts for %d changes", l.Restarts, w.Changes)
		}
		if l.Rolling {
			rolling++
		}
	}
	if m.maxConcurrent > 0 && rolling > m.maxConcurrent {
		return fmt.Sprintf("%d workloads roll at once", rolling)
	}
	if w.Away || slices.Contains(w.Lost, true) || slices.Contains(w.Unattended, true) || slices.ContainsFunc(w.Loads, func(l load) bool { return l.Rolling }) {
		return ""
	}
	for i := range w.Status {
		if w.Status[i].Pending != nil || w.Seen[i] != w.Content[i] {
			return ""
		}
		if worlds := m.run(w, i, how{now: true}); worlds[len(worlds)-1].Status[i].Pending != nil {
			return ""
		}
	}
	for _, l := range w.Loads {
		if !slices.Equal(l.Runs, w.Content) {
			return "all is settled, and a workload runs with other content than observed"
		}
	}
	return ""
}

func text(t *testing.T, w world) []byte {
	t.Helper()
	out, err := json.Marshal(w)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestModel(t *testing.T) {
	most := near
	if limit.Selected(limit.Slow) {
		most = math.MaxInt
	}
	for name, m := range map[string]model{
		"one watcher and two workloads":    {watchers: 1, workloads: 2, changes: 2, outages: 1, crashes: 1},
		"content that returns twice":       {watchers: 1, workloads: 1, changes: 3, outages: 1, crashes: 1},
		"workloads that others roll":       {watchers: 1, workloads: 1, changes: 2, crashes: 1, rolls: 2},
		"one workload at a time":           {watchers: 1, workloads: 2, changes: 2, crashes: 1, maxConcurrent: 1},
		"two watchers of one workload":     {watchers: 2, workloads: 1, changes: 2, crashes: 1, rolls: 1},
		"content that changes back unseen": {watchers: 1, workloads: 1, changes: 3, crashes: 1, absences: 1, touches: 1},
		"sources that come and go, unseen": {watchers: 1, workloads: 1, changes: 3, absences: 1, outages: 1},
		"two watchers of one source":       {watchers: 2, workloads: 1, changes: 3, shared: true, lateStarts: true},
		"with caches that are late":        {watchers: 2, workloads: 1, changes: 2, shared: true},
		"that are killed":                  {watchers: 2, workloads: 1, changes: 1, crashes: 1, shared: true},
		"while others roll":                {watchers: 2, workloads: 1, changes: 1, rolls: 1, shared: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, way, worlds := m.search(t, most)
			if wrong != "" {
				t.Errorf("%s:\n%s", wrong, strings.Join(way, "\n"))
			}
			t.Logf("%d worlds", worlds)
		})
	}
}

// What is known to be wrong has to fail, or the model says nothing.
func TestModelFindsMutants(t *testing.T) {
	for name, m := range map[string]model{
		"marks of content alone":               {watchers: 1, workloads: 1, changes: 3, crashes: 1, rolls: 1, marksOfContent: true},
		"absence as unchanged":                 {watchers: 1, workloads: 2, changes: 2, outages: 1, crashes: 1, absenceUnchanged: true},
		"a start that is not recorded":         {watchers: 1, workloads: 1, changes: 2, crashes: 1, startUnwritten: true},
		"a change undone after others rolled":  {watchers: 1, workloads: 1, changes: 2, rolls: 1, undoesBlindly: true},
		"an undo judged by a cache that lags":  {watchers: 1, workloads: 1, changes: 2, rolls: 1, trustsLateCaches: true},
		"writes that are not recorded":         {watchers: 1, workloads: 1, changes: 3, absences: 1, forgetsWrites: true},
		"every write as a change":              {watchers: 1, workloads: 1, changes: 1, absences: 1, touches: 1, countsAllWrites: true},
		"older marks of peers over newer ones": {watchers: 2, workloads: 1, changes: 3, crashes: 1, peersWithoutCheck: true},
		"templates for other content":          {watchers: 2, workloads: 1, changes: 3, shared: true, lateStarts: true, keepsTemplates: true},
		"what another watcher has seen since":  {watchers: 2, workloads: 1, changes: 3, shared: true, lateStarts: true, trustsFirstSeen: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, way, worlds := m.search(t, math.MaxInt)
			if wrong == "" {
				t.Errorf("nothing is found wrong in %d worlds", worlds)
			}
			t.Logf("found after %d steps, in %d worlds", len(way), worlds)
		})
	}
}
