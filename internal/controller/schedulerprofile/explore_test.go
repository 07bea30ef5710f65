// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"fmt"
	"strings"
	"testing"
)

// first is a world in which configuration a serves.
func first() world {
	w := world{spec: 1, deployed: 1, served: 1, configs: 1 << 1, proven: 1 << 1}
	w.sets[1] = modelReplicas
	for i := range modelReplicas {
		w.pods[i] = worldPod{1, runs}
	}
	return w
}

// search explores all worlds, and returns the shortest way to one that is wrong.
func (m model) search(visit func(world)) (wrong string, way []string, worlds int) {
	type visited struct {
		world
		from int
	}
	all, known := []visited{{first(), -1}}, map[world]struct{}{first(): {}}
	for i := 0; i < len(all); i++ {
		if wrong := wrongs[all[i].wrong]; wrong != "" {
			for at := i; at >= 0; at = all[at].from {
				way = append([]string{all[at].String()}, way...)
			}
			return wrong, way, len(all)
		}
		visit(all[i].world)
		m.next(all[i].world, func(x world) {
			if _, before := known[x]; !before {
				known[x] = struct{}{}
				all = append(all, visited{x, i})
			}
		})
	}
	return "", nil, len(all)
}

// String is a line that people can follow.
func (w world) String() string {
	const letters = "-abc"
	var kept, pods []string
	for c := uint8(1); c <= modelConfigs; c++ {
		if w.configs.has(c) {
			kept = append(kept, letters[c:c+1])
		}
	}
	for _, p := range w.pods {
		if p.state != gone {
			pods = append(pods, letters[p.config:p.config+1]+" "+[]string{"", "begins", "runs", "crashes", "leaves"}[p.state])
		}
	}
	return fmt.Sprintf("spec %c deployed %c served %c ConfigMaps %v sets %v pods %s | operator: %s", letters[w.spec], letters[w.deployed], letters[w.served],
		kept, w.sets[1:], strings.Join(pods, ", "), []string{"idle", "has read", "has applied the ConfigMap", "has applied the Deployment", "has deleted"}[w.phase])
}

// standard is a model with what the Deployment says.
func standard(t *testing.T, m model) model {
	t.Helper()
	rolling := inputFor(t, named("gpu")).deployment().Spec.Strategy.RollingUpdate
	m.surge, m.available = uint8(rolling.MaxSurge.IntVal), modelReplicas-uint8(rolling.MaxUnavailable.IntVal)
	return m
}

// TestModel: whatever happens in whatever order, a pod that is started again, or comes instead of one that has been ready, finds its
// ConfigMap; and no more of them are kept than pods have, the served one, and the wanted one.
func TestModel(t *testing.T) {
	for name, m := range map[string]model{
		"changes":               {changes: 3},
		"changes and losses":    {changes: 3, losses: 1},
		"changes and evictions": {changes: 2, evictions: 2},
		"all of them":           {changes: 2, evictions: 1, losses: 1},
	} {
		t.Run(name, func(t *testing.T) {
			wrong, way, worlds := standard(t, m).search(func(w world) {
				kept := w.configs &^ (1<<w.served | 1<<w.wanted | 1<<w.deployed)
				for _, p := range w.pods {
					kept &^= 1 << p.config
				}
				if w.phase == opPruned && w.losses == 0 && kept & ^w.keep != 0 {
					t.Fatalf("more is kept than is needed: %s", w)
				}
			})
			if wrong != "" {
				t.Fatalf("%s:\n%s", wrong, strings.Join(way, "\n"))
			}
			t.Logf("%d worlds", worlds)
		})
	}
}

// TestModelRefused: while the API server, the operator and kubelets do whatever they do, a configuration with which no pod starts never
// replaces one that serves.
func TestModelRefused(t *testing.T) {
	refused := false
	standard(t, model{changes: 1, losses: 2}).search(func(w world) {
		refused = refused || w.spec == 3 && w.count(3, crashes) == 1
		if w.spec == 3 && (w.count(1, runs) != modelReplicas || w.served != 1 || w.phase == opPruned && !w.configs.has(1)) {
			t.Fatalf("it does: %s", w)
		}
	})
	if !refused {
		t.Error("no pod has crashed")
	}
}

// TestModelNeeds: each thing that keeps a ConfigMap is needed.
func TestModelNeeds(t *testing.T) {
	for name, m := range map[string]model{
		"pods that leave": {changes: 2, evictions: 1, noLeaving: true},
		"unready pods":    {changes: 2, evictions: 2, noUnready: true},
	} {
		if wrong, _, worlds := standard(t, m).search(func(world) {}); wrong == "" {
			t.Errorf("%s: nothing is wrong in %d worlds without them", name, worlds)
		}
	}
}

// TestModelEnds: when nothing more happens, the wanted configuration serves, if pods start with it, and its ConfigMap alone is left.
// Then nothing is written.
func TestModelEnds(t *testing.T) {
	if wrong := standard(t, model{changes: 2, evictions: 1}).ends(t); wrong != "" {
		t.Error(wrong)
	}
	if wrong := standard(t, model{changes: 2, evictions: 1, noDeployed: true}).ends(t); wrong == "" {
		t.Error("the configuration of the Deployment need not be kept")
	}
}

// ends returns a world that is not as it should be at the end.
func (m model) ends(t *testing.T) (wrong string) {
	t.Helper()
	ends := map[world]int{}
	m.search(func(w world) {
		if w.changes == m.changes && w.phase == opIdle {
			ends[m.settle(w)]++
		}
	})
	for w := range ends {
		alone := w.configs == 1<<w.spec && w.served == w.spec && w.count(w.spec, runs) == modelReplicas
		if w.count(0, runs) != modelReplicas || w.count(0, begins, leaves) > 0 || starts(w.spec) != alone {
			wrong = "an end is " + w.String()
		}
	}
	if len(ends) < modelConfigs {
		t.Errorf("there are only %d ends", len(ends))
	}
	return wrong
}

// settle lets the operator and the controllers run until they write nothing any more.
func (m model) settle(w world) world {
	m.changes, m.evictions, m.losses = 0, 0, 0
	for range 100 {
		before := w
		for range opPruned + 1 { // a run of the operator
			m.operate(w, func(x world) { w = x })
		}
		for moved := true; moved; {
			moved = false
			others := func(x world) {
				if !moved && x != w {
					w, moved = x, true
				}
			}
			now := w
			m.deploy(now, others)
			for c := uint8(1); c <= modelConfigs; c++ {
				replicate(now, c, others)
			}
			for i := range now.pods {
				m.kubelet(now, i, others)
			}
		}
		before.wanted, before.keep, before.nextServed = w.wanted, w.keep, w.nextServed
		if w == before {
			break
		}
	}
	w.changes, w.evictions, w.wanted, w.keep, w.nextServed, w.proven = 0, 0, 0, 0, 0, 0
	return w
}
