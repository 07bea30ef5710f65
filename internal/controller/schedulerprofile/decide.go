// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// state is how far a scheduler is.
type state string

const (
	// serves: all pods are as wanted and ready, and one of them is active.
	serves state = "Serving"
	// rolls: pods as wanted are starting.
	rolls state = "RollingOut"
	// configRefused: kube-scheduler does not start with the wanted configuration.
	configRefused state = "ConfigRefused"
	// imageRefused: the kubelet does not get the image.
	imageRefused state = "ImageRefused"
	// podsRejected: the API server rejects the pods, for instance because of a quota.
	podsRejected state = "PodsRejected"
	// notServing: no pod is active, or pods do not become ready.
	notServing state = "NotServing"
)

// view is what is known about a scheduler.
type view struct {
	now time.Time
	// template is the digest of what pods are to be made from. wanted is the hash of the wanted configuration; empty for a program.
	// served is the one with which all pods have been ready.
	template, wanted, served string
	// program: it is no kube-scheduler, which may use the Lease or not.
	program bool
	// own: the image is the user's own, so that it may be another program.
	own bool
	// replicas is how many pods there should be.
	replicas int32
	pods     []pod
	// holder is the holder of the Lease, and renewed when it was renewed last.
	holder  string
	renewed time.Time
	// leaseFor is for how long the Lease is held.
	leaseFor time.Duration
	// overdue: the pods have not become ready within the progress deadline. rejected is why the API server rejects pods.
	overdue  bool
	rejected string
}

// pod is a pod of the scheduler.
type pod struct {
	name string
	// template is the digest of what it was made from, and hash that of its configuration.
	template, hash string
	ready          bool
	// failed is what the program wrote before it ended; waiting is the reason why a container does not start, and message the
	// kubelet's explanation.
	failed, waiting, message string
}

// verdict is how far a scheduler is, with a message for users. serving is the hash with which all pods run, if they do; active is the
// pod that places pods.
type verdict struct {
	state           state
	message         string
	serving, active string
}

// decide derives how far a scheduler is.
func decide(v view) verdict {
	out := verdict{active: v.active()}
	current, former := v.split()
	ready := 0
	for _, p := range current {
		if p.ready {
			ready++
		}
	}
	if len(v.pods) != ready || len(current) != ready || int32(ready) != v.replicas {
		out.state, out.message = v.delay(current, former)
		return out
	}
	out.serving, out.state = v.wanted, serves
	if out.active == "" && !v.program {
		out.state, out.message = notServing, "no pod is active: none of them holds the Lease; see their logs"
	}
	return out
}

// split returns the pods that were made from what is wanted, and former ones that serve: an image or a flag may differ, too.
func (v view) split() (current, former []pod) {
	for _, p := range v.pods {
		switch {
		case p.template == v.template:
			current = append(current, p)
		case p.ready:
			former = append(former, p)
		}
	}
	return current, former
}

// active is the pod that holds the Lease; empty if none does.
func (v view) active() string {
	// kube-scheduler adds a random part to the name of the host.
	name, _, _ := strings.Cut(v.holder, "_")
	for _, p := range v.pods {
		if p.name == name && v.now.Before(v.renewed.Add(v.leaseFor)) {
			return name
		}
	}
	return ""
}

// delay is why not all pods are as wanted and ready. What ended is the clearest sign, then what never started.
func (v view) delay(current, former []pod) (state, string) {
	serving := meanwhile(current, former)
	for _, p := range current {
		if line := lastLine(p.failed); line != "" && !p.ready {
			return v.ended(p.name, line, serving)
		}
	}
	for _, p := range current {
		if refusals[p.waiting] && !p.ready {
			return imageRefused, fmt.Sprintf("the image of the pod %s cannot be used (%s): %s; correct it; meanwhile %s", p.name, p.waiting,
				cmp.Or(p.message, "the kubelet gives no reason"), serving)
		}
	}
	switch {
	case v.rejected != "":
		return podsRejected, fmt.Sprintf("pods cannot be created in the operator's namespace: %s; meanwhile %s", v.rejected, serving)
	case v.overdue:
		return notServing, fmt.Sprintf("the pods have not become ready in %d seconds; see their events and logs; meanwhile %s", progressDeadline, serving)
	}
	return rolls, "pods are starting; meanwhile " + serving
}

// ended is what it means that a pod has ended. With a configuration that has served, kube-scheduler ends when it loses its Lease.
func (v view) ended(name, line, serving string) (state, string) {
	if v.program || v.wanted == v.served {
		return notServing, fmt.Sprintf("the pod %s has ended and is started again: %s; meanwhile %s", name, line, serving)
	}
	wrong := "correct spec.profiles"
	if v.own {
		wrong = "correct spec.profiles, or let spec.image be a kube-scheduler of the cluster's version"
	}
	return configRefused, fmt.Sprintf("kube-scheduler does not start with this configuration: %s; %s; meanwhile %s", line, wrong, serving)
}

// meanwhile is who serves while pods are not ready.
func meanwhile(current, former []pod) string {
	switch {
	case len(former) > 0:
		return "former pods continue to serve"
	case slices.ContainsFunc(current, func(p pod) bool { return p.ready }):
		return "other pods serve the profiles"
	}
	return "no pod serves the profiles"
}

// refusals are the reasons of a kubelet that does not get an image, or finds no program in it.
var refusals = map[string]bool{
	"ErrImagePull": true, "ImagePullBackOff": true, "InvalidImageName": true, "ErrImageNeverPull": true, "ImageInspectError": true,
	"CreateContainerError": true, "RunContainerError": true, "StartError": true, "ContainerCannotRun": true,
}

// failure is the last line of kube-scheduler's log.
var failure = regexp.MustCompile(`"command failed" err=("(?:[^"\\]|\\.)*")`)

// maxLine is how much of a line a condition shows.
const maxLine = 512

// lastLine is the last line of what a program wrote; of kube-scheduler, the error that it has.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	line := strings.TrimSpace(lines[len(lines)-1])
	if found := failure.FindStringSubmatch(line); found != nil {
		if message, err := strconv.Unquote(found[1]); err == nil {
			line = message
		}
	}
	line = strings.TrimSpace(strings.Map(printable, line))
	if len(line) > maxLine {
		line = strings.ToValidUTF8(line[:maxLine], "") + "…"
	}
	return line
}

// printable replaces what would change how a terminal shows the rest.
func printable(r rune) rune {
	if r == '\t' || !strconv.IsPrint(r) {
		return ' '
	}
	return r
}
