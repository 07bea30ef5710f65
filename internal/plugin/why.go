// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Answer is the one reason why an object is not ready, or why what it should do waits, and the way out.
type Answer struct {
	// Object is KIND/NAME.
	Object string `json:"object"`
	// Is says how it is, in half a sentence.
	Is string `json:"is"`
	// Because is the reason, Do the way out; both are empty when nothing is wrong.
	Because string `json:"because,omitempty"`
	Do      string `json:"do,omitempty"`
	// Also is what exists because of the object and is not well.
	Also []string `json:"also,omitempty"`
}

// Why returns why an object is not ready, or why what it should do waits. The way out is in the message of the
// condition, and in the documentation.
func Why(f Fetched, s Status, ways Ways, operatorNamespace string, now time.Time) Answer {
	target := f.Kind.Word() + "/" + s.Name
	a := Answer{Object: target, Because: oneLine(s.Message), Also: troubles(s.Children, "")}
	switch s.State.State {
	case Paused:
		a.Is, a.Do = "paused", resume(f.Kind, s)
	case Unseen:
		a.Is, a.Do = "not served yet", "wait some seconds; if it stays, see whether the operator runs: kubectl get pods -n "+operatorNamespace
	case Plain:
		a.Is, a.Because = "data, without a state: there is nothing to wait for", ""
	case Ready:
		return ready(a, f.Object, s, ways, now)
	default:
		condition := deciding(s)
		a.Is = words[s.State.State]
		a.Do = ways.Out(condition, s.Reason)
		if s.Reason != "" {
			a.Is += " (" + s.Reason + ")"
		}
	}
	if !s.Since.IsZero() {
		a.Is += " for " + Ago(s.Since.Time, now)
	}
	return a
}

// deciding is the condition from which Ready takes its reason.
func deciding(s Status) string {
	for _, c := range s.Conditions {
		if summary[c.Type] == 0 && c.Status != metav1.ConditionTrue && c.Reason == s.Reason {
			return c.Type
		}
	}
	return ""
}

// ready answers for an object that is ready: something it should do may wait all the same.
func ready(a Answer, o *unstructured.Unstructured, s Status, ways Ways, now time.Time) Answer {
	a.Is, a.Because = "ready", ""
	if because, do := waiting(o, now); because != "" {
		a.Is, a.Because, a.Do = "ready, and something waits", because, do
		return a
	}
	for _, c := range s.Conditions {
		if summary[c.Type] == 0 && c.Status != metav1.ConditionTrue {
			a.Is = fmt.Sprintf("ready, but %s %s (%s)", c.Type, isWord(c.Status), c.Reason)
			a.Because, a.Do = oneLine(c.Message), ways.Out(c.Type, c.Reason)
			return a
		}
	}
	if s.Reason != conditionReady {
		a.Is, a.Because, a.Do = "ready ("+s.Reason+")", oneLine(s.Message), ways.Out(conditionReady, s.Reason)
	}
	return a
}

// pendingReasons are what status.pending.reason means, and what to do. Those of a newer operator are shown unchanged.
var pendingReasons = map[string][2]string{
	"Debounce":          {"the content has to stay unchanged for restart.debounce", "wait"},
	"MinInterval":       {"the last restart is less than restart.minInterval ago", "wait, or lower restart.minInterval"},
	"OutsideWindow":     {"no window of restart.windows is open", "wait for the next window, or change restart.windows"},
	"Suspended":         {"restart.maxPerHour is reached", "find out what changes the content so often, or raise restart.maxPerHour"},
	"MaxConcurrent":     {"other workloads have to become ready first", "see which one does not become ready: kubectl acme status"},
	"RolloutUnfinished": {"a workload still rolls for another reason", "wait until it is ready; kubectl rollout status says how far it is"},
	"Evicting":          {"pods are being evicted", "wait; a PodDisruptionBudget may delay it"},
	"Refused":           {"a workload could not be restarted; it is tried again", "the condition UpToDate has the API server's answer"},
	"NotReady":          {"the leader is not ready", "wait for handover.notReadyFor, or see why the pod is not ready"},
	"Failback":          {"the preferred candidate has to stay ready for failback.after", "wait"},
	"Requested":         {"no other candidate is ready", "make another pod ready"},
	"NoCandidate":       {"no candidate is ready", "see why the pods are not ready"},
	"OldStillStopping":  {"the old leader has not ended yet", "wait for its end"},
	"NodeUnreachable":   {"the node of the old leader does not confirm its end", "make sure that the node is off, then delete the Node"},
}

// waiting says what an object waits for, by the fields that the kinds have in common or that runs have.
func waiting(o *unstructured.Unstructured, now time.Time) (because, do string) {
	if pending, ok, _ := unstructured.NestedMap(o.Object, "status", "pending"); ok {
		return pendingOf(pending, now)
	}
	request, _, _ := unstructured.NestedString(o.Object, "status", "runNow", "request")
	dropped, _, _ := unstructured.NestedString(o.Object, "status", "runNow", "dropped")
	requests, _, _ := unstructured.NestedSlice(o.Object, "status", "requests")
	queue, _, _ := unstructured.NestedSlice(o.Object, "status", "ledger", "queue")
	switch {
	case dropped != "":
		return fmt.Sprintf("the request %q for a run by hand was dropped: %s", request, dropped), "request it again with another value"
	case len(requests) > 0:
		return fmt.Sprintf("runs by hand wait for runs in progress: %d", len(requests)), "wait, or delete the Job in progress"
	case len(queue) > 0:
		return fmt.Sprintf("slots in the queue wait for runs in progress: %d", len(queue)), "wait, or make runs shorter"
	}
	return "", ""
}

func pendingOf(pending map[string]any, now time.Time) (because, do string) {
	reason, _, _ := unstructured.NestedString(pending, "reason")
	known, ok := pendingReasons[reason]
	if !ok {
		known = [2]string{"what is pending waits (" + reason + ")", "see `kubectl explain` for status.pending"}
	}
	because = known[0]
	for _, field := range []string{"notBefore", "due"} {
		text, _, _ := unstructured.NestedString(pending, field)
		if at, err := time.Parse(time.RFC3339, text); err == nil && at.After(now) {
			because += fmt.Sprintf("; not before %s, in %s", at.UTC().Format(time.RFC3339), Ago(now, at))
		}
	}
	return because, known[1]
}

// troubles are the children that are not well, each in a sentence.
func troubles(children []Child, above string) (all []string) {
	for _, c := range children {
		if c.Wrong {
			all = append(all, fmt.Sprintf("%s%s %s: %s", above, c.Kind, c.Name, c.Is))
		}
		all = append(all, troubles(c.Children, c.Kind+" "+c.Name+", ")...)
	}
	return all
}
