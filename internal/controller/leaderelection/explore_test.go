// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package leaderelection

import (
	"fmt"
	"strings"
	"testing"
)

// search explores all worlds, and returns the shortest way to one that is wrong.
func (m model) search() (wrong string, way []string, worlds int) {
	first := world{}
	type visited struct {
		world
		from int
	}
	all, known := []visited{{first, -1}}, map[packed]struct{}{first.pack(): {}}
	for i := 0; i < len(all); i++ {
		if wrong := wrongs[all[i].wrong]; wrong != "" {
			for at := i; at >= 0; at = all[at].from {
				way = append([]string{all[at].String()}, way...)
			}
			return wrong, way, len(all)
		}
		m.next(all[i].world, func(x world) {
			key := x.pack()
			if _, before := known[key]; !before {
				known[key] = struct{}{}
				all = append(all, visited{x, i})
			}
		})
	}
	return "", nil, len(all)
}

// String is a line that people can follow: the ledger, the pods, and what each operator is about to do.
func (w world) String() string {
	text := fmt.Sprintf("ledger %-14s status %d |", w.ledger, w.known)
	for n, p := range w.pods {
		text += fmt.Sprintf(" %s %s %d", podID(uint8(n+1), p.uid).text(), marks[p.mark], p.epoch)
		if p.labelled {
			text += " LABEL"
		}
		if p.ran {
			text += " ran"
		}
		text += ";"
	}
	for i, op := range w.ops {
		text += fmt.Sprintf(" | %d: ", i)
		switch op.phase {
		case idle:
			text += "idle"
		case hasLedger:
			text += "has read " + op.saw.String()
		default:
			text += fmt.Sprintf("%s %s %d", verbs[op.do], podID(op.target, op.uid).text(), op.epoch)
			if op.phase == hasPods {
				text += " once confirmed"
			}
		}
	}
	return text
}

func (l worldLedger) String() string {
	if !l.exists {
		return "none"
	}
	return fmt.Sprintf("%d %s -%s", l.epoch, podID(l.holder, l.holderUID).text(), podID(l.old, l.ou).text())
}

func TestModel(t *testing.T) {
	for name, m := range map[string]model{
		"without the confirmation, as long as the ledger stays": {ops: 2, pods: 2, epochs: 3, noConfirm: true},
		"two operators":                                     {ops: 2, pods: 2, epochs: 4},
		"three operators":                                   {ops: 3, pods: 2, epochs: 2},
		"three pods":                                        {ops: 2, pods: 3, epochs: 2},
		"a ledger that is deleted":                          {ops: 2, pods: 2, epochs: 3, deletions: 2},
		"a ledger that is restored":                         {ops: 2, pods: 2, epochs: 3, restorations: 1},
		"pods that are replaced":                            {ops: 2, pods: 2, epochs: 3, replacements: 1},
		"a ledger deleted, and pods replaced":               {ops: 2, pods: 2, epochs: 3, deletions: 1, replacements: 1},
		"a ledger deleted, and three operators":             {ops: 3, pods: 2, epochs: 2, deletions: 1},
		"an old leader that is stopped":                     {ops: 2, pods: 2, epochs: 4, stop: true},
		"one that is stopped, and a ledger that is deleted": {ops: 2, pods: 2, epochs: 3, stop: true, deletions: 1},
		"what the status has recorded":                      {ops: 1, pods: 2, epochs: 4, status: true, deletions: 1, replacements: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, way, worlds := m.search()
			if wrong != "" {
				t.Errorf("%s:\n%s", wrong, strings.Join(way, "\n"))
			}
			t.Logf("%d states", worlds)
		})
	}
}

// What is known to be wrong has to fail, or the model says nothing.
func TestModelFindsMutants(t *testing.T) {
	for name, m := range map[string]model{
		"no fence write where there is no label":         {ops: 2, pods: 2, epochs: 3, noFence: true},
		"no fence write, with the confirmation left out": {ops: 2, pods: 2, epochs: 3, noFence: true, noConfirm: true},
		"no epoch check": {ops: 2, pods: 2, epochs: 3, noEpochs: true, noConfirm: true},
		"no epoch check, and a ledger that is restored":       {ops: 2, pods: 2, epochs: 4, noEpochs: true, restorations: 1},
		"no confirmation, and a ledger that is deleted":       {ops: 2, pods: 2, epochs: 3, noConfirm: true, deletions: 1, replacements: 1},
		"no versions in patches":                              {ops: 2, pods: 2, epochs: 3, noVersions: true},
		"a ledger that is rebuilt before the pods are fenced": {ops: 2, pods: 2, epochs: 3, rebuildsBare: true, deletions: 1},
		"a rebuilding that forgets who has led":               {ops: 2, pods: 2, epochs: 3, stop: true, noFormer: true, deletions: 1},
		"a status that is not read":                           {ops: 1, pods: 2, epochs: 4, status: true, noStatus: true, deletions: 1, replacements: 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wrong, way, worlds := m.search()
			if wrong == "" {
				t.Fatalf("nothing is found wrong in %d states", worlds)
			}
			t.Logf("%s in %d steps, after %d states", wrong, len(way)-1, worlds)
		})
	}
}
