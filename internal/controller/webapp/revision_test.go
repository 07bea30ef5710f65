// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

// aroundPods are the fields of a spec that are no part of a revision: what they decide is not what the pods are.
var aroundPods = []string{
	"webAppHostname", "ingress", "publish", "isolation", // how the pods are reached
	"webAppReplicas", "autoscaling", "maxUnavailable", // how many there are
	"strategy", "revisionHistoryLimit", "migration", "rolloutDeadline", "autoRollback", "rollbackTo", "restartOnChange", // how they are replaced
}

// inPods are the fields that are.
var inPods = []string{
	"webAppImage", "deploymentTier", "port", "ports", "command", "args", "env", "envFrom", "databaseSecretRef", "config", "resources", "probes", "drainSeconds",
	"terminationGracePeriodSeconds", "volumes", "volumeMounts", "initContainers", "sidecars", "serviceAccountName", "imagePullSecrets",
	"nodeSelector", "tolerations", "topologySpreadConstraints", "schedulerName", "priorityClassName", "securityContext",
}

// full is a spec in which every field is set, to another value than in app.
func full() v1alpha1.WebAppSpec {
	s := v1alpha1.WebAppSpec{WebAppImage: "registry.acme.com/app/app:v2", WebAppHostname: "other.acme.com", DeploymentTier: common.TierProd}
	everything(&s)
	s.Isolation, s.Migration = v1alpha1.IsolationNone, &v1alpha1.Migration{Command: []string{"migrate"}}
	s.RolloutDeadline, s.AutoRollback, s.RollbackTo = &metav1.Duration{Duration: time.Minute}, true, new(int64(3))
	return s
}

// fieldsOf are the fields of a spec by their names.
func fieldsOf(v reflect.Value, do func(name string, field reflect.Value)) {
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		if name == "" {
			fieldsOf(v.Field(i), do)
			continue
		}
		do(name, v.Field(i))
	}
}

func contentIn(t *testing.T, spec v1alpha1.WebAppSpec) content {
	t.Helper()
	c, err := contentOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestARevisionHoldsWhatMakesThePods(t *testing.T) {
	inside := map[string]bool{}
	for _, name := range inPods {
		inside[name] = true
	}
	for _, name := range aroundPods {
		inside[name] = false
	}
	base := app(common.TierDev).Spec
	all := full()
	values := map[string]reflect.Value{}
	fieldsOf(reflect.ValueOf(all), func(name string, field reflect.Value) { values[name] = field })
	for name, value := range values {
		belongs, known := inside[name]
		if !known {
			t.Errorf("%s is in neither list: decide whether it belongs to a revision, and if not, add it to copyAround", name)
			continue
		}
		if value.IsZero() {
			t.Errorf("full does not set %s", name)
		}
		changed := *base.DeepCopy()
		fieldsOf(reflect.ValueOf(&changed).Elem(), func(n string, field reflect.Value) {
			if n == name {
				field.Set(value)
			}
		})
		if differs := contentIn(t, changed).hash != contentIn(t, base).hash; differs != belongs {
			t.Errorf("%s: another value makes another revision: %v", name, differs)
		}
	}
	then, err := restored(base, contentIn(t, all))
	if err != nil {
		t.Fatal(err)
	}
	fieldsOf(reflect.ValueOf(then), func(name string, field reflect.Value) {
		want := values[name]
		if !inside[name] {
			fieldsOf(reflect.ValueOf(base), func(n string, f reflect.Value) {
				if n == name {
					want = f
				}
			})
		}
		if got, expected := asJSON(t, field), asJSON(t, want); got != expected {
			t.Errorf("%s: restored to %s, want %s", name, got, expected)
		}
	})
}

func asJSON(t *testing.T, v reflect.Value) string {
	t.Helper()
	text, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestContentStaysTheSame has the hashes that are in the status of WebApps: another version of the operator must find them.
func TestContentStaysTheSame(t *testing.T) {
	for want, text := range map[string]string{
		"081db165bda8a5c55d993acbdf1b8a918c2adb5caff1bdb5b4e018db597ee5ea": `{"webAppImage":"registry.acme.com/app/app:v1","webAppHostname":"a.acme.com","deploymentTier":"dev","port":8080,"isolation":"Ingress"}`,
		"923fee4ad1ae8fdb6fd88527173606ae9d2f02cf91022ddd76df5f100ca4b64c": `{"webAppImage":"a:v2","webAppHostname":"a.acme.com","deploymentTier":"prod","port":9000,"config":{"b":"<&>","a":"ü"},
			"env":[{"name":"B","value":"2"},{"name":"A"}],"resources":{"limits":{"cpu":"1000m","memory":"1Gi"}}}`,
	} {
		spec := v1alpha1.WebAppSpec{}
		if err := json.Unmarshal([]byte(text), &spec); err != nil {
			t.Fatal(err)
		}
		if got := contentIn(t, spec).hash; got != want {
			t.Errorf("%s has the hash %s", text, got)
		}
	}
}

func TestLargeNumbersOfARevisionStay(t *testing.T) {
	for _, n := range []int64{1<<53 + 1, 9223372036854775807, -9223372036854775808, 300} {
		spec := app(common.TierDev).Spec
		spec.Tolerations = []corev1.Toleration{{TolerationSeconds: &n}}
		then, err := restored(spec, contentIn(t, spec))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(spec, then); diff != "" {
			t.Errorf("%d (-want +got):\n%s", n, diff)
		}
	}
}

// TestABrokenHashIsNoRevision has hashes that no operator writes.
func TestABrokenHashIsNoRevision(t *testing.T) {
	for _, hash := range []string{"", "a", "123456789", "x y", strings.Repeat("Ü", 64)} {
		a := history(func(a *v1alpha1.WebApp) { a.Status.Revisions[0].Hash = hash }, 1)
		if name := contentIn(t, a.Spec); isKept(a, revisionName(a, name.hash)) {
			t.Errorf("%q is the hash of another content", hash)
		}
	}
}

func TestRevisionsAreRead(t *testing.T) {
	c := contentIn(t, full())
	stored := func(text string) *appsv1.ControllerRevision {
		return &appsv1.ControllerRevision{Data: runtime.RawExtension{Raw: []byte(text)}}
	}
	for _, tc := range []struct {
		why, give string
		found     bool
	}{
		{"as it was written", string(c.data), true},
		{"with other spaces", strings.Replace(string(c.data), ":", " : ", 1), true},
		{"with another image", strings.Replace(string(c.data), "app:v2", "app:v3", 1), false},
		{"no JSON", "x", false},
		{"nothing", "", false},
	} {
		got, found := readRevision(stored(tc.give), c.hash)
		if found != tc.found || found && string(got.data) != string(c.data) {
			t.Errorf("%s: got %v", tc.why, found)
		}
	}
}

// history is a WebApp with revisions, the latest first, each with its number as hash.
func history(with func(*v1alpha1.WebApp), numbers ...int64) *v1alpha1.WebApp {
	a := app(common.TierDev)
	for _, n := range numbers {
		a.Status.Revisions = append(a.Status.Revisions, v1alpha1.Revision{Number: n, Image: "i", Hash: fmt.Sprint(n)})
		a.Status.LastRevision = max(a.Status.LastRevision, n)
	}
	if len(numbers) > 0 {
		a.Status.Revision = numbers[0]
	}
	with(a)
	return a
}

func TestChoose(t *testing.T) {
	plain := func(*v1alpha1.WebApp) {}
	failed := func(from, to int64) func(*v1alpha1.WebApp) {
		return func(a *v1alpha1.WebApp) {
			a.Spec.AutoRollback, a.Status.RolledBack = true, &v1alpha1.RolledBack{Revision: from, To: to}
		}
	}
	asked := func(n int64) func(*v1alpha1.WebApp) {
		return func(a *v1alpha1.WebApp) { a.Spec.RollbackTo = &n }
	}
	both := func(all ...func(*v1alpha1.WebApp)) func(*v1alpha1.WebApp) {
		return func(a *v1alpha1.WebApp) {
			for _, w := range all {
				w(a)
			}
		}
	}
	for _, tc := range []struct {
		why  string
		app  *v1alpha1.WebApp
		own  string
		want course
	}{
		{"the first revision", history(plain), "x", course{1, "x", bySpec}},
		{"a content that is known", history(plain, 3, 1), "1", course{1, "1", bySpec}},
		{"a content that is new", history(plain, 3, 1), "x", course{4, "x", bySpec}},
		{"a number is not given twice", history(func(a *v1alpha1.WebApp) { a.Status.LastRevision = 9 }, 3), "x", course{10, "x", bySpec}},
		{"rollbackTo", history(asked(1), 3, 1), "3", course{1, "1", byUser}},
		{"rollbackTo what the spec says", history(asked(3), 3, 1), "3", course{3, "3", byBoth}},
		{"rollbackTo what there is not", history(asked(2), 3, 1), "3", course{2, "", byUser}},
		{"rollbackTo with a new spec", history(asked(1), 3, 1), "x", course{1, "1", byUser}},
		{"an automatic rollback", history(failed(3, 1), 3, 1), "3", course{1, "1", byFailure}},
		{"one that is over because the spec has changed", history(failed(3, 1), 3, 1), "x", course{4, "x", bySpec}},
		{"one to what the spec says now", history(failed(3, 1), 3, 1), "1", course{1, "1", bySpec}},
		{"one that is not wanted any more", history(both(failed(3, 1), func(a *v1alpha1.WebApp) { a.Spec.AutoRollback = false }), 3, 1), "3", course{3, "3", bySpec}},
		{"one to what there is not", history(failed(3, 2), 3, 1), "3", course{2, "", byFailure}},
		{"rollbackTo comes first", history(both(failed(3, 1), asked(2)), 3, 2, 1), "3", course{2, "2", byUser}},
	} {
		if diff := cmp.Diff(tc.want, choose(tc.app, tc.own), cmp.AllowUnexported(course{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.why, diff)
		}
	}
}

func TestWhatThePodsAreMadeFrom(t *testing.T) {
	a := history(func(*v1alpha1.WebApp) {}, 2, 1)
	says := func(hash string) *held {
		h := ours(t, a)
		h.ours.WithAnnotations(map[string]string{AnnotationRevision: hash})
		return h
	}
	for _, tc := range []struct {
		why  string
		give *held
		want string
	}{
		{"there is no Deployment", nil, "2"},
		{"it says so", says("2"), "2"},
		{"it says so, and the status was lost", says("3"), "3"},
		{"somebody has changed what it says", ours(t, a), "2"},
		{"nothing of it is the operator's", &held{ours: &appsv1ac.DeploymentApplyConfiguration{}}, "2"},
	} {
		if got := madeFrom(tc.give, &a.Status); got != tc.want {
			t.Errorf("%s: got %q", tc.why, got)
		}
	}
	d, err := input{app: a, content: content{hash: "3"}}.deploymentIntent()
	if err != nil || d.Annotations[AnnotationRevision] != "3" || len(d.Spec.Template.Annotations) > 0 {
		t.Errorf("the Deployment, and not its pods, has to say it: %+v, %v", d.Annotations, err)
	}
}

func TestARevisionRecordsItsMigration(t *testing.T) {
	v1, v2 := migrating(), migrating(func(s *v1alpha1.WebAppSpec) { s.WebAppImage = "a:v2" })
	v1.Status.Migrated = migrationName(v1)
	take(v1, course{1, "1", bySpec}, v1, "1")
	v2.Status = v1.Status
	v2.Status.Migrated = migrationName(v2)
	take(v2, course{2, "2", bySpec}, v2, "2")
	for _, tc := range []struct {
		why  string
		app  *v1alpha1.WebApp
		take course
	}{
		{"the same", v2, course{2, "2", bySpec}},
		{"one of before", v1, course{1, "1", bySpec}},
		{"one whose migration has not run", migrating(image("a:v3")), course{3, "3", byUser}},
		{"none is asked for any more", app(common.TierDev), course{1, "1", bySpec}},
	} {
		a := tc.app.DeepCopy()
		v2.Status.DeepCopyInto(&a.Status)
		take(a, tc.take, a, "")
		got := []string{recordOf(&a.Status, 1).Migrated, recordOf(&a.Status, 2).Migrated, recordOf(&a.Status, 3).Migrated}
		if diff := cmp.Diff([]string{migrationName(v1), migrationName(v2), ""}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.why, diff)
		}
	}
}

func TestTake(t *testing.T) {
	plain := func(*v1alpha1.WebApp) {}
	serves := func(n int64) func(*v1alpha1.WebApp) {
		return func(a *v1alpha1.WebApp) { a.Status.ServingRevision = n }
	}
	for _, tc := range []struct {
		why  string
		app  *v1alpha1.WebApp
		take int64
		want []int64
	}{
		{"the first", history(plain), 1, []int64{1}},
		{"a new one", history(plain, 2, 1), 3, []int64{3, 2, 1}},
		{"one of before", history(plain, 3, 2, 1), 1, []int64{1, 3, 2}},
		{"the same", history(plain, 3, 2, 1), 3, []int64{3, 2, 1}},
		{"the eleventh", history(plain, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), 11, []int64{11, 10, 9, 8, 7, 6, 5, 4, 3, 2}},
		{"the eleventh, while the first serves", history(serves(1), 10, 9, 8, 7, 6, 5, 4, 3, 2, 1), 11, []int64{11, 10, 9, 8, 7, 6, 5, 4, 3, 1}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			before := tc.app.Status.Revision
			take(tc.app, course{tc.take, fmt.Sprint(tc.take), bySpec}, app(common.TierDev, image("i")), "")
			var got []int64
			for _, r := range tc.app.Status.Revisions {
				got = append(got, r.Number)
			}
			s := tc.app.Status
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if s.Revision != tc.take || s.LastRevision < tc.take || (s.Rollout != nil) != (before != tc.take) {
				t.Errorf("revision %d, last %d, rollout %v", s.Revision, s.LastRevision, s.Rollout)
			}
		})
	}
}
