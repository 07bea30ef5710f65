// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/plugin"
)

var now = time.Date(2027, 3, 2, 12, 0, 0, 0, time.UTC)

// object parses a manifest.
func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(asJSON, &o.Object); err != nil {
		t.Fatal(err)
	}
	return o
}

func condition(kind, status, reason string) string {
	return fmt.Sprintf(`{type: %s, status: "%s", reason: %s, message: "the message of %s", lastTransitionTime: "2027-03-02T11:55:00Z"}`,
		kind, status, reason, reason)
}

func TestStateOf(t *testing.T) {
	ready, notReady := condition("Ready", "True", "Ready"), condition("Ready", "False", "RunFailed")
	stalled := condition("Stalled", "True", "InvalidSchedule")
	for _, c := range []struct{ name, metadata, status, want string }{
		{"ready", "generation: 2", "observedGeneration: 2, conditions: [" + ready + "]", "Ready Ready"},
		{"not ready", "generation: 2", "observedGeneration: 2, conditions: [" + notReady + "]", "NotReady RunFailed"},
		{"a user has to act", "generation: 2", "observedGeneration: 2, conditions: [" + notReady + "," + stalled + "]", "Failed InvalidSchedule"},
		{"changed since", "generation: 3", "observedGeneration: 2, conditions: [" + ready + "]", "Unseen "},
		{"no status yet", "generation: 1", "", "Unseen "},
		{"a condition that is none", "generation: 1", `observedGeneration: 1, conditions: ["x", 5]`, "Unseen "},
		{
			"paused", `generation: 3, annotations: {platform.acme.com/paused: "true"}`,
			"observedGeneration: 2, conditions: [" + notReady + "," + stalled + "]", "Paused PausedByAnnotation",
		},
		{
			"being deleted", `generation: 2, deletionTimestamp: "2027-03-02T11:00:00Z", finalizers: [theirs/hold]`,
			"observedGeneration: 2, conditions: [" + ready + "]", "Deleting ",
		},
	} {
		o := object(t, fmt.Sprintf("{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {%s}, status: {%s}}", c.metadata, c.status))
		state := plugin.StateOf(o, true)
		if got := state.State + " " + state.Reason; got != c.want {
			t.Errorf("%s: %q, not %q", c.name, got, c.want)
		}
	}
	data := object(t, "{apiVersion: tenancy.acme.com/v1alpha1, kind: DeploymentTier, metadata: {generation: 1}}")
	if state := plugin.StateOf(data, false); state.State != plugin.Plain {
		t.Errorf("of a kind without a status: %q", state.State)
	}
}

// Labels may be written by anybody: what is shown below an object is what the operator would count as its child.
func TestForgedMarksMakeNoChildren(t *testing.T) {
	owner := object(t, "{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {name: tab, namespace: a, uid: u1}}")
	child := func(namespace, name string, uid types.UID, controller bool) *unstructured.Unstructured {
		o := object(t, fmt.Sprintf("{apiVersion: batch/v1, kind: Job, metadata: {name: %s, namespace: %s}}", name, namespace))
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "batch.acme.com/v1alpha1", Kind: "CronTab", Name: "tab", UID: uid, Controller: &controller}})
		return o
	}
	found := []*unstructured.Unstructured{
		child("a", "own", "u1", true), child("b", "elsewhere", "u1", true), child("a", "former", "u0", true), child("a", "no-controller", "u1", false),
		object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: unowned, namespace: a}}"),
	}
	if got := namesOf(plugin.Belong(owner, found, "operator")); !slices.Equal(got, []string{"own"}) {
		t.Errorf("children of a namespaced owner: %q", got)
	}

	team := object(t, "{apiVersion: tenancy.acme.com/v1alpha1, kind: AcmeNamespace, metadata: {name: team, uid: u1}}")
	found = []*unstructured.Unstructured{
		object(t, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: quota, namespace: app}}"),
		object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: app}}"),
		object(t, "{apiVersion: v1, kind: ConfigMap, metadata: {name: forged, namespace: other}}"),
	}
	if got := namesOf(plugin.Belong(team, found, "operator")); !slices.Equal(got, []string{"quota", "app"}) {
		t.Errorf("children of a cluster-scoped owner: %q", got)
	}
}

func namesOf(objects []*unstructured.Unstructured) (all []string) {
	for _, o := range objects {
		all = append(all, o.GetName())
	}
	return all
}

func TestReadiness(t *testing.T) {
	for _, c := range []struct {
		text, want string
		wrong      bool
	}{
		{"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 3}, status: {readyReplicas: 2}}", "2 of 3 ready", true},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {replicas: 0}}", "0 of 0 ready", false},
		{"{apiVersion: apps/v1, kind: StatefulSet, status: {readyReplicas: 1}}", "1 of 1 ready", false},
		{"{apiVersion: apps/v1, kind: Deployment, spec: {paused: true}}", "paused", true},
		{"{apiVersion: batch/v1, kind: Job, status: {active: 1}}", "running", false},
		{"{apiVersion: batch/v1, kind: Job}", "not started", false},
		{"{apiVersion: batch/v1, kind: Job, status: {conditions: [" + condition("Failed", "True", "BackoffLimitExceeded") + "]}}", "failed: BackoffLimitExceeded", true},
		{"{apiVersion: batch/v1, kind: Job, status: {conditions: [" + condition("Complete", "True", "x") + "]}}", "succeeded", false},
		{"{apiVersion: v1, kind: Namespace, status: {phase: Active}}", "active", false},
		{"{apiVersion: v1, kind: PersistentVolumeClaim, status: {phase: Pending}}", "pending", true},
		{"{apiVersion: v1, kind: ConfigMap}", "present", false},
		{`{apiVersion: v1, kind: Secret, metadata: {deletionTimestamp: "2027-03-02T11:00:00Z", finalizers: [x/hold]}}`, "being deleted, held by x/hold", true},
		{"{apiVersion: autoreboot.acme.com/v1beta7, kind: ConfigWatcher, status: {conditions: [" + condition("Ready", "False", "SourceMissing") + "]}}", "not ready: SourceMissing", true},
		{"{apiVersion: autoreboot.acme.com/v1alpha1, kind: ConfigWatcher, status: {conditions: [" + condition("Ready", "True", "Ready") + "]}}", "ready", false},
		{"{apiVersion: autoreboot.acme.com/v1alpha1, kind: ConfigWatcher}", "not served yet", true},
	} {
		if is, wrong := plugin.Readiness(object(t, c.text)); is != c.want || wrong != c.wrong {
			t.Errorf("%s: %q %v, not %q %v", c.text, is, wrong, c.want, c.wrong)
		}
	}
}

func TestPodTrouble(t *testing.T) {
	for text, want := range map[string]string{
		"{status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}":                                                  "",
		"{status: {phase: Succeeded, conditions: [{type: Ready, status: 'False', reason: PodCompleted}]}}":                         "",
		"{status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ImagePullBackOff}}}]}}":               "container app: ImagePullBackOff",
		"{status: {phase: Failed, containerStatuses: [{name: app, state: {terminated: {exitCode: 3}}}]}}":                          "container app ended with exit code 3",
		"{status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable, message: no room}]}}": "Unschedulable: no room",
		"{status: {phase: Pending, containerStatuses: [{name: app, state: {waiting: {reason: ContainerCreating}}}]}}":              "",
		"{status: {phase: Failed, reason: Evicted}}":                                                                               "failed",
	} {
		if got := plugin.PodTrouble(object(t, text)); got != want {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	}
}

func TestTheWorstComesFirst(t *testing.T) {
	row := func(name, state string, ago time.Duration) plugin.Row {
		return plugin.Row{Kind: "CronTab", Name: name, State: plugin.State{State: state, Since: metav1.NewTime(now.Add(-ago))}}
	}
	o := plugin.Overview{Objects: []plugin.Row{
		row("b", plugin.Ready, time.Minute), row("an-old", plugin.Failed, time.Hour), row("a", plugin.Ready, time.Hour), row("p", plugin.Paused, 0),
		row("n", plugin.NotReady, 0), row("data", plugin.Plain, 0), row("new", plugin.Failed, time.Minute), row("d", plugin.Deleting, 0), row("u", plugin.Unseen, 0),
	}}
	o.Sort()
	var got []string
	for _, r := range o.Objects {
		got = append(got, r.Name)
	}
	if want := "new an-old n d u p a b data"; strings.Join(got, " ") != want {
		t.Errorf("%q, not %q", got, want)
	}
}

// What was written by others reaches a terminal as text only.
func TestControlCharactersAreNotPrinted(t *testing.T) {
	evil := "\x1b]0;owned\x07\u009b31m\u202eback\r\nline"
	status := plugin.Status{
		Kind: "CronTab", Name: "tab", State: plugin.State{State: plugin.Failed, Reason: "X" + evil, Message: evil},
		Asked: []plugin.Fact{{Name: "image", Value: evil}}, Facts: []plugin.Fact{{Name: evil, Value: evil}},
		Children:   []plugin.Child{{Kind: "Job", Name: "j", Is: evil}},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "False", Reason: "R", Message: evil}},
		Events:     []plugin.Event{{Reason: evil, Message: evil, Type: "Warning"}}, Hidden: []string{evil},
	}
	rows := plugin.Overview{Objects: []plugin.Row{{Kind: "CronTab", Name: "tab", State: status.State}}, Hidden: []string{evil}}
	for _, colours := range []bool{false, true} {
		var out bytes.Buffer
		p := plugin.Printer{Out: &out, Colours: colours, Wide: true, Now: now}
		p.Status(status)
		p.Overview(rows)
		text := out.String()
		for _, colour := range []string{"31", "32", "33", "39", "1", "0"} {
			text = strings.ReplaceAll(text, "\x1b["+colour+"m", "")
		}
		if colours == (text == out.String()) {
			t.Errorf("colours are %v, and it prints %q", colours, out.String())
		}
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && (r < ' ' || r >= 0x7f && r < 0xa0 || r == 0x202e) }); i >= 0 {
			t.Errorf("with colours %v it prints %q", colours, text[i:min(i+40, len(text))])
		}
		if !strings.Contains(text, "owned") || strings.Contains(text, "\nline") {
			t.Errorf("the text is lost, or has lines of its own: %q", text)
		}
	}
}

func TestTarget(t *testing.T) {
	for _, args := range [][]string{{"crontab/tab"}, {"crontab", "tab"}} {
		if kind, name, err := plugin.Target(args); kind != "crontab" || name != "tab" || err != nil {
			t.Errorf("%q: %q %q %v", args, kind, name, err)
		}
	}
	for _, args := range [][]string{{}, {"crontab"}, {"/tab"}, {"crontab/"}, {"crontab", "a/b"}, {"a/b/c"}} {
		if _, _, err := plugin.Target(args); err == nil || !strings.Contains(err.Error(), "KIND/NAME") {
			t.Errorf("%q: %v", args, err)
		}
	}
}

func TestAnErrorIsOneLine(t *testing.T) {
	got := plugin.Explain(errors.New("something\n\tbroke\r\nin lines"))
	if got != "something broke in lines" {
		t.Errorf("%q", got)
	}
}

// TestForbidden: only the answer of RBAC is about a missing right.
func TestForbidden(t *testing.T) {
	for text, right := range map[string]bool{
		`User "sam" cannot get resource "crontabs" in API group "batch.acme.com" in the namespace "a"`:         true,
		`exceeded quota: dev, requested: pods=1, used: pods=5, limited: pods=5`:                                false,
		`unable to create new content in namespace a because it is being terminated`:                           false,
		`ValidatingAdmissionPolicy 'p' with binding 'p' denied request: a tenant cannot change the guardrails`: false,
	} {
		err := apierrors.NewForbidden(schema.GroupResource{Group: "batch.acme.com", Resource: "crontabs"}, "tab", errors.New(text))
		if got := plugin.Explain(err); strings.Contains(got, "kubectl auth can-i") != right || !strings.Contains(got, text) {
			t.Errorf("%q", got)
		}
	}
}

// TestNothingOfOthersReachesATerminal: no name has control characters either, also where colours are painted around it.
func TestNothingOfOthersReachesATerminal(t *testing.T) {
	const evil = "a\x1b[31m\u009b31m\u202eb\r\n"
	var out strings.Builder
	p := plugin.Printer{Out: &out, Colours: true, Namespaces: true, Now: now}
	state := plugin.State{State: plugin.Failed, Reason: evil, Message: evil}
	child := plugin.Child{Kind: evil, Namespace: evil, Name: evil, Is: evil, Children: []plugin.Child{{Kind: evil, Name: evil, Is: evil}}}
	p.Status(plugin.Status{Kind: evil, Namespace: evil, Name: evil, State: state, Children: []plugin.Child{child}, Next: []string{evil}})
	p.Overview(plugin.Overview{Objects: []plugin.Row{{Kind: evil, Namespace: evil, Name: evil, State: state}}, Hidden: []string{evil}})
	p.Answer(plugin.Answer{Object: evil, Is: evil, Because: evil, Do: evil, Also: []string{evil}})
	p.Item(plugin.SignBad, evil, evil)
	p.Notes([]string{evil})
	text := out.String()
	if strings.Contains(text, "a\x1b") || strings.ContainsAny(text, "\u009b\u202e\r") || strings.Count(text, "a [31m") < 15 {
		t.Errorf("%q", text)
	}
	if got := plugin.EscapeControls("{\"a\": \"\u009b\u202e\U000e0001é\"}\n"); got != `{"a": "\u009b\u202e\udb40\udc01é"}`+"\n" {
		t.Errorf("%q", got)
	}
}

// TestCommandsQuoteNames: names of some types may have any character, and commands are there to be copied.
func TestCommandsQuoteNames(t *testing.T) {
	o := object(t, "{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {name: c, namespace: a, uid: u}}")
	bad := object(t, `{apiVersion: batch/v1, kind: Job, metadata: {name: "x; rm -rf 'y'", namespace: a, ownerReferences: [{uid: u, controller: true}]},
		status: {conditions: [`+condition("Failed", "True", "x")+`]}}`)
	s := plugin.StatusOf(plugin.Fetched{Kind: plugin.Kind{Kind: "CronTab", Namespaced: true, Status: true}, Object: o, Children: []*unstructured.Unstructured{bad}}, "op")
	if want := `kubectl describe job 'x; rm -rf '\''y'\''' -n a`; !slices.Contains(s.Next, want) {
		t.Errorf("%q", s.Next)
	}
}

// TestStatusHidesValues: no value of a configuration or an annotation is printed, whatever its key.
func TestStatusHidesValues(t *testing.T) {
	const canary = "hunter2"
	o := object(t, `{apiVersion: workloads.apps.acme.com/v1alpha1, kind: WebApp, metadata: {name: shop, annotations: {a.href: hunter2}}, spec: {
		config: {db.href: hunter2, DB_HREF: hunter2, dbRef: hunter2}, annotations: {a: hunter2, xRef: hunter2}, podAnnotations: {a: hunter2},
		args: [hunter2], command: [hunter2], env: [{name: A_REF, value: hunter2}], password: hunter2}}`)
	s := plugin.StatusOf(plugin.Fetched{Kind: plugin.Kind{Kind: "WebApp", Namespaced: true, Status: true}, Object: o}, "op")
	var out strings.Builder
	plugin.Printer{Out: &out, Wide: true, Now: now}.Status(s)
	asJSON, err := json.Marshal(s)
	for _, text := range []string{out.String(), string(asJSON)} {
		if err != nil || strings.Contains(text, canary) || !strings.Contains(text, "db.href=(set)") {
			t.Errorf("%v %s", err, text)
		}
	}
}
