// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/acme/platform-operator/internal/testenv/explore"
)

// What a replica does.
const (
	awaited = iota // it is started later
	serves
	leaves // it has to end
	ended
)

var replicas = []string{"first", "second", "third"}

// farewell is a world: two or three replicas, and what the EndpointSlices of two families of addresses show.
type farewell struct {
	replicas [3]int
	shown    [2][3]bool
	// service is false once the Service was deleted: the EndpointSlices stay as they are until they are collected.
	service, registered bool
	// late is true once a replica has waited in vain: the operator, or the garbage collector, deletes the APIService then.
	late bool
}

func (w farewell) slices() (all []discoveryv1.EndpointSlice) {
	for _, family := range w.shown {
		var s discoveryv1.EndpointSlice
		for i, name := range replicas {
			s.Endpoints = append(s.Endpoints, endpoint(name, ptr.To(family[i])))
		}
		all = append(all, s)
	}
	return all
}

// update has the slices of one family show what is. The controller of Kubernetes writes all endpoints of a family at once.
func (w *farewell) update(family int) {
	for i, state := range w.replicas {
		w.shown[family][i] = w.service && state == serves
	}
}

// look is what a replica does that is to end.
func (w *farewell) look(i int, late bool) {
	s := standingOf(replicas[i], w.slices())
	w.late = w.late || late
	if s == last {
		w.registered = false
	}
	if s != unknown || late {
		w.replicas[i] = ended
	}
}

// next are the steps of everybody: uninstall deletes the Service, and controller is false where nobody updates the EndpointSlices.
func (w farewell) next(stop []int, uninstall, controller bool, do func(string, farewell)) {
	step := func(by string, change func(*farewell)) {
		x := w
		change(&x)
		do(by, x)
	}
	for i, name := range replicas {
		switch w.replicas[i] {
		case awaited:
			step(name+" is ready", func(x *farewell) { x.replicas[i] = serves })
		case serves:
			if w.mayStop(i, stop) {
				step(name+" has to end", func(x *farewell) { x.replicas[i] = leaves })
			}
		case leaves:
			step(name+" looks", func(x *farewell) { x.look(i, false) })
			if !controller {
				step(name+" has waited long enough", func(x *farewell) { x.look(i, true) })
			}
		}
	}
	if uninstall && w.service {
		step("the Service is deleted", func(x *farewell) { x.service = false })
	}
	for family := range w.shown {
		if controller {
			step("the EndpointSlices of a family are updated", func(x *farewell) { x.update(family) })
		}
	}
}

// mayStop: in a rollout a replica is stopped once the third one is ready, one after the other.
func (w farewell) mayStop(i int, stop []int) bool {
	for _, s := range stop {
		if s == i {
			return len(stop) == 3 || w.replicas[2] == serves || w.replicas[2] == ended
		}
	}
	return false
}

func TestReplicasThatEndInAnyOrder(t *testing.T) {
	for name, tc := range map[string]struct {
		third                 int
		stop                  []int
		uninstall, controller bool
	}{
		"both are scaled to 0":                             {ended, []int{0, 1}, false, true},
		"both are scaled to 0, and nobody updates slices":  {ended, []int{0, 1}, false, false},
		"an uninstall deletes the Service, too":            {ended, []int{0, 1}, true, true},
		"an uninstall of three":                            {serves, []int{0, 1, 2}, true, true},
		"a rollout":                                        {awaited, []int{0}, false, true},
		"a rollout of both":                                {awaited, []int{0, 1}, false, true},
		"three, and nobody updates slices":                 {serves, []int{0, 1, 2}, false, false},
		"one node of two is drained":                       {ended, []int{0}, false, true},
		"one node of two is drained, and no slice follows": {ended, []int{0}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			first := farewell{replicas: [3]int{serves, serves, tc.third}, service: true, registered: true}
			first.update(0)
			first.update(1)
			way, worlds := explore.Space[farewell, farewell]{
				First: first, Key: explore.Same[farewell],
				Next: func(w farewell, do func(string, farewell)) { w.next(tc.stop, tc.uninstall, tc.controller, do) },
				Wrong: func(w farewell) string {
					serving, over := false, true
					for _, state := range w.replicas {
						serving, over = serving || state == serves, over && state == ended
					}
					switch {
					case over && w.registered && !w.late:
						return "nobody serves, and the APIService is left"
					case serving && w.service && !w.registered:
						return "the APIService is gone although a replica serves"
					}
					return ""
				},
			}.Search()
			t.Logf("%d worlds", worlds)
			if way != nil || worlds < 3 {
				t.Errorf("%d worlds:\n%s", worlds, strings.Join(way, "\n"))
			}
		})
	}
}
