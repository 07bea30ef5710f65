// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"slices"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/names"
)

// The model explores every interleaving of an operator that acts by formerOf and decide, of the controllers of Deployments and
// ReplicaSets, of kubelets, and of somebody who changes the spec and evicts pods. The operator reads, applies the ConfigMap and the
// Deployment, deletes ConfigMaps, and writes the status; it may end after each of them, and a write may be lost. Configurations a and b
// are good, with c no pod starts.
//
// It takes for granted that a run of the operator ends before a pod that it has not seen becomes ready, and that a ReplicaSet creates
// a pod before the operator runs again or, if it replaces one that is being deleted, before that is gone.

const (
	modelConfigs  = 3
	modelReplicas = 2
	modelPods     = 6
)

var modelHashes = [modelConfigs + 1]string{"", names.Digest("a"), names.Digest("b"), names.Digest("c")}

func starts(config uint8) bool { return config < 3 }

type podState uint8

const (
	gone   podState = iota
	begins          // it needs its ConfigMap
	runs
	crashes
	leaves
)

type worldPod struct {
	config uint8
	state  podState
}

type opPhase uint8

const (
	opIdle opPhase = iota
	opRead
	opHasConfig
	opHasDeployment
	opPruned
)

// configSet is a set of configurations, as bits.
type configSet uint8

func (s configSet) has(c uint8) bool { return s&(1<<c) != 0 }

type world struct {
	spec, deployed, served uint8
	configs                configSet
	// sets is how many pods each ReplicaSet is to have.
	sets [modelConfigs + 1]uint8
	pods [modelPods]worldPod
	// proven are the configurations with which a pod has been ready since their ReplicaSet was empty.
	proven configSet

	phase              opPhase
	wanted, nextServed uint8
	keep               configSet

	changes, evictions, losses uint8
	wrong                      uint8
}

var wrongs = []string{
	"", "a pod does not find its ConfigMap, with which one has been ready",
}

// model is how much happens besides, and how the Deployment rolls.
type model struct {
	changes, evictions, losses uint8
	surge, available           uint8
	// These leave out what the protocol keeps: the configurations of pods that leave, or are not ready, and of the Deployment.
	noLeaving, noUnready, noDeployed bool
}

// next calls do for every world that may follow.
func (m model) next(w world, do func(world)) {
	m.operate(w, do)
	m.deploy(w, do)
	for c := uint8(1); c <= modelConfigs; c++ {
		replicate(w, c, do)
		if w.changes < m.changes && c != w.spec {
			x := w
			x.changes, x.spec = x.changes+1, c
			do(x)
		}
	}
	for i := range w.pods {
		m.kubelet(w, i, do)
	}
}

// operate lets the operator send its next request, or lose it, or end.
func (m model) operate(w world, do func(world)) {
	if w.phase != opIdle && w.losses < m.losses {
		x := w
		x.losses, x.phase = x.losses+1, opIdle
		do(x)
	}
	x := w
	switch w.phase {
	case opIdle:
		for c := uint8(1); c <= modelConfigs; c++ {
			if w.count(c, begins, runs, crashes, leaves) < w.sets[c] {
				return
			}
		}
		m.read(&x)
	case opRead:
		x.configs, x.phase = w.configs|1<<w.wanted, opHasConfig
	case opHasConfig:
		if w.losses < m.losses { // the API server rejects the Deployment
			y := w
			y.losses, y.phase, y.nextServed = y.losses+1, opHasDeployment, y.served
			do(y)
		}
		x.deployed, x.phase = w.wanted, opHasDeployment
	case opHasDeployment:
		x.configs, x.phase = w.configs&w.keep, opPruned
	case opPruned:
		x.served, x.phase = w.nextServed, opIdle
	}
	do(x)
}

// read is what a run of the operator decides by.
func (m model) read(w *world) {
	var pods []pod
	var coming []string
	ready := ""
	for i, p := range w.pods {
		if p.state == gone {
			continue
		}
		hash := modelHashes[p.config]
		one := pod{name: string(rune('a' + i)), template: hash, hash: hash, ready: p.state == runs}
		if p.state == runs {
			ready = one.name
		}
		switch {
		case p.state != leaves && (p.state == runs || !m.noUnready):
			pods = append(pods, one)
		case p.state == leaves && !m.noLeaving:
			coming = append(coming, hash)
		}
	}
	if !m.noDeployed {
		coming = append(coming, modelHashes[w.deployed])
	}
	p := named("gpu")
	p.Status = v1alpha1.SchedulerProfileStatus{ServingHash: modelHashes[w.served]}
	wanted := modelHashes[w.spec]
	w.wanted, w.phase, w.keep = w.spec, opRead, 1<<w.spec
	for _, hash := range formerOf(p, wanted, pods, coming) {
		w.keep |= 1 << uint8(slices.Index(modelHashes[:], hash))
	}
	v := view{
		now: noon, renewed: noon, leaseFor: 15, holder: ready + "_1", template: wanted, wanted: wanted, served: modelHashes[w.served],
		replicas: modelReplicas, pods: pods,
	}
	w.nextServed = w.served
	if got := decide(v); got.serving != "" {
		w.nextServed = uint8(slices.Index(modelHashes[:], got.serving))
	}
}

// count is how many pods of a configuration, or of all (0), are in one of the states.
func (w *world) count(config uint8, states ...podState) (n uint8) {
	for _, p := range w.pods {
		if p.state != gone && (config == 0 || p.config == config) && slices.Contains(states, p.state) {
			n++
		}
	}
	return n
}

// deploy is what the Deployment does.
func (m model) deploy(w world, do func(world)) {
	if w.deployed == 0 {
		return
	}
	var total uint8
	for _, n := range w.sets {
		total += n
	}
	if w.sets[w.deployed] < modelReplicas && total < modelReplicas+m.surge {
		x := w
		x.sets[w.deployed]++
		do(x.sorted())
	}
	if total+w.count(w.deployed, runs) <= m.available+w.sets[w.deployed] {
		return
	}
	for c := uint8(1); c <= modelConfigs; c++ {
		ready := w.count(c, runs)
		if c == w.deployed || w.sets[c] == 0 || ready >= w.sets[c] && w.count(0, runs) <= m.available {
			continue
		}
		x := w
		x.sets[c]--
		do(x.sorted())
	}
}

// replicate is what a ReplicaSet does: pods that leave do not count, and those that are not ready go first.
func replicate(w world, config uint8, do func(world)) {
	active := w.count(config, begins, runs, crashes)
	free := slices.IndexFunc(w.pods[:], func(p worldPod) bool { return p.state == gone })
	switch {
	case active < w.sets[config] && free >= 0:
		x := w
		x.pods[free] = worldPod{config, begins}
		do(x.sorted())
	case active > w.sets[config]:
		unready := w.count(config, begins, crashes) > 0
		for i, p := range w.pods {
			if p.config == config && p.state != leaves && p.state != gone && (p.state == runs) != unready {
				x := w
				x.pods[i].state = leaves
				do(x.sorted())
			}
		}
	}
}

// kubelet is what happens to a pod.
func (m model) kubelet(w world, i int, do func(world)) {
	p, x := w.pods[i], w
	to := func(s podState) {
		x.pods[i].state = s
		do(x.sorted())
		x = w
	}
	switch {
	case p.state == begins && w.configs.has(p.config) && starts(p.config) && w.phase != opIdle:
	case p.state == begins && w.configs.has(p.config) && starts(p.config):
		x.proven |= 1 << p.config
		to(runs)
	case p.state == begins && w.configs.has(p.config):
		to(crashes)
	case p.state == begins && w.proven.has(p.config) && w.sets[p.config] >= w.count(p.config, begins, runs, crashes):
		x.wrong = 1
		to(begins)
	case p.state == leaves && w.count(p.config, begins, runs, crashes) >= w.sets[p.config]:
		x.pods[i].config = 0
		to(gone)
	}
	if (p.state == runs || p.state == begins) && w.evictions < m.evictions {
		x.evictions++
		to(leaves)
		if p.state == runs { // its node restarts
			x.evictions++
			to(begins)
		}
	}
}

// sorted makes worlds equal that differ in the names of pods only, or in what does not matter any more.
func (w world) sorted() world {
	for c := uint8(1); c <= modelConfigs; c++ {
		if w.sets[c] == 0 && w.count(c, begins, runs, crashes) == 0 {
			w.proven &^= 1 << c
		}
	}
	slices.SortFunc(w.pods[:], func(a, b worldPod) int {
		return int(b.state)*8 + int(b.config) - int(a.state)*8 - int(a.config)
	})
	return w
}
