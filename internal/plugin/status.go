// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Fact is something to know about an object.
type Fact struct {
	// Name is what it is about, Value what it is.
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Event is what happened to an object.
type Event struct {
	// Last is when it happened last, Count how often.
	Last  metav1.Time `json:"last"`
	Count int64       `json:"count,omitempty"`
	// Type is Normal or Warning.
	Type    string `json:"type"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
}

// Fetched is all that was read about one object.
type Fetched struct {
	// Kind and Object are what was asked for.
	Kind   Kind
	Object *unstructured.Unstructured
	// Table is the object as the API server prints it; nil if it did not.
	Table *metav1.Table
	// Children are the objects with its marks, Pods those of a child by its UID.
	Children []*unstructured.Unstructured
	Pods     map[string][]*unstructured.Unstructured
	// Events are those of the object.
	Events []*unstructured.Unstructured
	// Hidden is what could not be read.
	Hidden Hidden
}

// Status is what there is to say about one object.
type Status struct {
	// Kind, Namespace and Name are the object's.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// State is how it is.
	State
	// Asked is what its spec asks for, Facts what the API server prints about it.
	Asked []Fact `json:"asked,omitempty"`
	Facts []Fact `json:"facts,omitempty"`
	// Children are what exists because of it.
	Children []Child `json:"children,omitempty"`
	// Conditions are its conditions, the summaries last.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Events are the last ones, the newest last.
	Events []Event `json:"events,omitempty"`
	// Hidden is what the user may not see.
	Hidden []string `json:"hidden,omitempty"`
	// Next is what to type next.
	Next []string `json:"next,omitempty"`
}

// maxEvents is how many events are shown.
const maxEvents = 6

// StatusOf returns what there is to say about an object.
func StatusOf(f Fetched, operatorNamespace string) Status {
	o := f.Object
	s := Status{
		Kind: f.Kind.Kind, Namespace: o.GetNamespace(), Name: o.GetName(), State: StateOf(o, f.Kind.Status),
		Asked: asked(o), Facts: facts(f.Table), Conditions: Conditions(o), Hidden: f.Hidden.Sentences(),
	}
	s.Children = Tree(o, Belong(o, f.Children, operatorNamespace), f.Pods)
	slices.SortStableFunc(s.Conditions, func(a, b metav1.Condition) int { return cmp.Compare(summary[a.Type], summary[b.Type]) })
	for _, e := range f.Events {
		s.Events = append(s.Events, eventOf(e))
	}
	slices.SortFunc(s.Events, func(a, b Event) int { return a.Last.Compare(b.Last.Time) })
	s.Events = s.Events[max(len(s.Events)-maxEvents, 0):]
	s.Next = next(f.Kind, s)
	return s
}

var summary = map[string]int{conditionReady: 1, conditionStalled: 2, conditionPaused: 3}

func eventOf(e *unstructured.Unstructured) Event {
	text := func(path ...string) string {
		value, _, _ := unstructured.NestedString(e.Object, path...)
		return value
	}
	last := metav1.NewTime(e.GetCreationTimestamp().Time)
	for _, at := range []string{text("eventTime"), text("lastTimestamp"), text("series", "lastObservedTime")} {
		if t, err := time.Parse(time.RFC3339, at); err == nil && t.After(last.Time) {
			last = metav1.NewTime(t)
		}
	}
	count := max(number(e, "count"), number(e, "series", "count"))
	return Event{Last: last, Count: count, Type: text("type"), Reason: text("reason"), Message: text("message")}
}

// facts are the printed columns that nothing else shows.
func facts(table *metav1.Table) (all []Fact) {
	if table == nil || len(table.Rows) != 1 {
		return nil
	}
	for i, column := range table.ColumnDefinitions {
		switch column.Name {
		case "Name", "Ready", "Reason", "Age":
			continue
		}
		if i >= len(table.Rows[0].Cells) {
			break
		}
		if cell := table.Rows[0].Cells[i]; cell != nil && cell != "" {
			all = append(all, Fact{column.Name, scalar("", cell)})
		}
	}
	return all
}

// maxAsked is how long the value of a field may be.
const maxAsked = 80

// asked summarizes the fields of a spec. Values of secrets are not shown, nor those of environments and configuration.
func asked(o *unstructured.Unstructured) (all []Fact) {
	spec, _, _ := unstructured.NestedMap(o.Object, "spec")
	for name, value := range spec {
		all = append(all, Fact{name, short(name, value)})
	}
	slices.SortFunc(all, func(a, b Fact) int { return strings.Compare(a.Name, b.Name) })
	return all
}

func short(name string, value any) string {
	if Secretive(name) {
		return "(set)"
	}
	switch value := value.(type) {
	case map[string]any:
		var keys []string
		for key, inner := range value {
			switch inner.(type) {
			case map[string]any, []any:
				keys = append(keys, key)
			default:
				keys = append(keys, key+"="+scalar(name+"."+key, inner))
			}
		}
		slices.Sort(keys)
		return clip(strings.Join(keys, " "))
	case []any:
		var items []string
		for _, item := range value {
			switch item := item.(type) {
			case map[string]any:
				items = append(items, label(item))
			default:
				items = append(items, scalar(name, item))
			}
		}
		return clip(strings.Join(items, ", "))
	}
	return clip(scalar(name, value))
}

// label is what an element of a list is called.
func label(item map[string]any) string {
	var words []string
	for _, key := range []string{"kind", "name", "key"} {
		if text, ok := item[key].(string); ok {
			words = append(words, text)
		}
	}
	return cmp.Or(strings.Join(words, " "), "…")
}

func scalar(name string, value any) string {
	if Secretive(name) {
		return "(set)"
	}
	if f, ok := value.(float64); ok {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return oneLine(fmt.Sprint(value))
}

// Secretive reports whether a field may hold a secret: passwords and tokens, but not references to them, and all that users fill in freely.
func Secretive(name string) bool {
	name = strings.ToLower(name)
	in := func(part string) bool { return strings.Contains(name, part) }
	return slices.ContainsFunc([]string{"config.", "annotations.", "args", "command", "query", "where"}, in) ||
		slices.ContainsFunc([]string{"password", "token"}, in) && !strings.HasSuffix(name, "ref")
}

func clip(text string) string {
	if runes := []rune(text); len(runes) > maxAsked {
		return string(runes[:maxAsked-1]) + "…"
	}
	return text
}

// resume is the command that makes a paused object continue.
func resume(k Kind, s Status) string {
	return "kubectl acme resume " + k.Word() + "/" + s.Name + In(s.Namespace)
}

// next says what to type next: what makes a paused object continue, and what shows more about what is wrong.
func next(k Kind, s Status) (commands []string) {
	switch s.State.State {
	case Paused:
		commands = append(commands, resume(k, s))
	case Failed, NotReady, Deleting, Unseen:
		commands = append(commands, fmt.Sprintf("kubectl acme why %s/%s%s", k.Word(), s.Name, In(s.Namespace)))
	}
	for _, c := range s.Children {
		if c.Wrong && len(commands) < maxNext {
			commands = append(commands, describe(c, cmp.Or(c.Namespace, s.Namespace)))
		}
	}
	return commands
}

const maxNext = 4

// describe is the command that shows what is wrong with a child: of one with pods, the first of these.
func describe(c Child, namespace string) string {
	if len(c.Children) > 0 {
		c = c.Children[0]
	}
	return "kubectl describe " + strings.ToLower(c.Kind) + " " + quoted(c.Name) + In(namespace)
}

// simple is a word that every shell takes as it is.
var simple = regexp.MustCompile(`^[A-Za-z0-9._:@/-]+$`)

// quoted is a name as an argument of a command: names of some types may have any character.
func quoted(name string) string {
	if simple.MatchString(name) {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}
