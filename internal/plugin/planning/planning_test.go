// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package planning_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/planning"
	"github.com/acme/platform-operator/internal/testenv"
)

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	data, err := yaml.YAMLToJSON([]byte(text))
	if err == nil {
		err = o.UnmarshalJSON(data)
	}
	if err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return o
}

func knows(t *testing.T) planning.Operator {
	t.Helper()
	config, err := planning.Configuration("")
	if err != nil {
		t.Fatal(err)
	}
	return planning.Operator{
		Namespace: "op", Config: config, Minor: 36, Environment: []string{"RELATED_IMAGE_KUBE_SCHEDULER_1_36=registry.example.com/kube-scheduler:v1.36.3"},
		Now: time.Date(2027, 3, 2, 12, 0, 0, 0, time.UTC),
	}
}

// TestEveryKindIsPlanned: what the operator reconciles has its line, and samples give plans.
func TestEveryKindIsPlanned(t *testing.T) {
	for _, k := range operator.Kinds {
		gvks, _, err := operator.Scheme().ObjectKinds(k.Object)
		if err != nil || !slices.Contains(planning.Kinds(), gvks[0]) {
			t.Errorf("%v has no plan: add a line to plans: %v", gvks, err)
		}
	}
	for sample, want := range map[string]string{
		"tenancy_v1alpha1_acmenamespace": "create Namespace  app-z|create LimitRange app-z defaults|create NetworkPolicy app-z tenant-isolation|create ResourceQuota app-z dev|" +
			"create ResourceQuota app-z priority-classes-not-allowed|create Role app-z namespace-admin|create RoleBinding app-z namespace-admin",
		"autoreboot_v1alpha1_configwatcher": "", "autoreboot_v1alpha1_rebootpolicy": "", "batch_v1alpha1_crontab": "",
	} {
		all, err := testenv.ReadObjects(testenv.RepoFile("config", "samples", sample+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		changes, notes := plan(t, all[0], nil, nil)
		if changes != want || want == "" && len(notes) == 0 {
			t.Errorf("%s: %s; %q", sample, changes, notes)
		}
	}
}

// plan plans for an object, with the objects that exist.
func plan(t *testing.T, o *unstructured.Unstructured, exist map[planning.Key]planning.Live, former []*unstructured.Unstructured) (changes string, notes []string) {
	t.Helper()
	o.SetUID("u")
	p, err := planning.For(o, knows(t))
	if err != nil {
		t.Fatal(err)
	}
	reads, err := p.Reads()
	if err != nil {
		t.Fatal(err)
	}
	var found []*unstructured.Unstructured
	for _, key := range reads {
		if live := exist[key].Object; live != nil {
			found = append(found, live)
		}
	}
	if _, err := p.Want(found); err != nil {
		t.Fatal(err)
	}
	all, err := p.Changes(exist, former)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, c := range all {
		text := fmt.Sprintf("%s %s %s %s", c.Action, c.Kind, c.Namespace, c.Name)
		for _, f := range c.Fields {
			text += fmt.Sprintf(" %s:%s>%s", f.Path, f.From, f.To)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "|"), p.Notes()
}

const webapp = `{apiVersion: workloads.apps.acme.com/v1alpha1, kind: WebApp, metadata: {name: shop, namespace: team-a},
	spec: {webAppImage: "registry.example.com/shop:v1", webAppHostname: shop.example.com, deploymentTier: dev}}`

func key(group, version, kind, namespace, name string) planning.Key {
	k := planning.Key{Namespace: namespace, Name: name}
	k.Group, k.Version, k.Kind = group, version, kind
	return k
}

// service is a Service as the operator has applied it, with changes.
func service(t *testing.T, owner, selector string) *unstructured.Unstructured {
	t.Helper()
	return object(t, fmt.Sprintf(`{apiVersion: v1, kind: Service, metadata: {name: shop, namespace: team-a, uid: s,
		labels: {app.kubernetes.io/managed-by: platform-operator, platform.acme.com/owner-uid: u}, annotations: {platform.acme.com/owner: webapp/team-a/shop},
		ownerReferences: [{apiVersion: workloads.apps.acme.com/v1alpha1, kind: WebApp, name: shop, uid: %s, controller: true, blockOwnerDeletion: true}],
		managedFields: [{manager: platform-operator-webapp, operation: Apply, apiVersion: v1, fieldsType: FieldsV1, fieldsV1: {
			"f:metadata": {"f:labels": {"f:app.kubernetes.io/managed-by": {}, "f:platform.acme.com/owner-uid": {}}, "f:annotations": {"f:platform.acme.com/owner": {}},
				"f:ownerReferences": {'k:{"uid":"u"}': {}}},
			"f:spec": {"f:selector": {}, "f:ports": {'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:name": {}, "f:port": {}, "f:protocol": {}, "f:targetPort": {}}}}}}]},
		spec: {clusterIP: 10.0.0.1, selector: {workloads.apps.acme.com/webapp: %s}, ports: [{name: http, port: 80, protocol: TCP, targetPort: http}]}}`, owner, selector))
}

func TestWebApp(t *testing.T) {
	fresh, _ := plan(t, object(t, webapp), nil, nil)
	for _, want := range []string{
		"create Deployment  shop", "create Service  shop", "create Ingress  shop", "create ServiceAccount  shop", "create NetworkPolicy  shop-webapp",
		"create PodDisruptionBudget  shop", "create ControllerRevision  shop-revision-",
	} {
		if !strings.Contains(fresh, want) {
			t.Errorf("no %q in %s", want, fresh)
		}
	}
	at := key("", "v1", "Service", "team-a", "shop")
	for name, c := range map[string]struct {
		live planning.Live
		want string
	}{
		"as it is wanted":  {planning.Live{Object: service(t, "u", "shop")}, ""},
		"changed":          {planning.Live{Object: service(t, "u", "other")}, "change Service  shop spec.selector.workloads.apps.acme.com/webapp:other>shop"},
		"of somebody else": {planning.Live{Object: service(t, "other", "shop")}, "blocked Service  shop"},
		"not to be read":   {planning.Live{Hidden: true}, "unknown Service  shop"},
	} {
		changes, _ := plan(t, object(t, webapp), map[planning.Key]planning.Live{at: c.live}, nil)
		got := strings.Split(changes, "|")
		at := slices.IndexFunc(got, func(text string) bool { return strings.Contains(text, " Service ") })
		if c.want == "" && at >= 0 || c.want != "" && (at < 0 || got[at] != c.want) {
			t.Errorf("%s: %s", name, changes)
		}
	}
}

// TestDeleted: of what bears the marks, only what is proved to be a child is deleted.
func TestDeleted(t *testing.T) {
	of := func(kind, name, owner string) *unstructured.Unstructured {
		return object(t, fmt.Sprintf(`{apiVersion: v1, kind: %s, metadata: {name: %s, namespace: team-a, ownerReferences: [{kind: WebApp, name: shop, uid: %s, controller: true}]}}`,
			kind, name, owner))
	}
	changes, _ := plan(t, object(t, webapp), nil, []*unstructured.Unstructured{
		of("ConfigMap", "shop-config-0123456789", "u"), // of a former version
		of("ConfigMap", "copied", "u"), of("ConfigMap", "shop-config-abcdef0123", "other"), of("Service", "forged", "u"),
	})
	if strings.Count(changes, "delete") != 1 || !strings.Contains(changes, "delete ConfigMap  shop-config-0123456789") {
		t.Error(changes)
	}
	tier, err := testenv.ReadObjects(testenv.RepoFile("config", "samples", "tenancy_v1alpha1_acmenamespace.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	old := object(t, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: prod, namespace: app-z}}")
	forged := object(t, "{apiVersion: v1, kind: ResourceQuota, metadata: {name: forged, namespace: app-z}}")
	changes, _ = plan(t, tier[0], nil, []*unstructured.Unstructured{old, forged})
	if strings.Count(changes, "delete") != 1 || !strings.Contains(changes, "delete ResourceQuota app-z prod") {
		t.Error(changes)
	}
}

// TestTier: a DeploymentTier overrides what is built in, and a Namespace of somebody else is said.
func TestTier(t *testing.T) {
	all, err := testenv.ReadObjects(testenv.RepoFile("config", "samples", "tenancy_v1alpha1_acmenamespace.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	exist := map[planning.Key]planning.Live{
		key("tenancy.acme.com", "v1alpha1", "DeploymentTier", "", "dev"): {Object: object(t,
			"{apiVersion: tenancy.acme.com/v1alpha1, kind: DeploymentTier, metadata: {name: dev}, spec: {network: {isolation: None}}}")},
	}
	changes, notes := plan(t, all[0], exist, nil)
	if strings.Contains(changes, "NetworkPolicy") || !strings.Contains(changes, "create Namespace  app-z") || len(notes) > 0 {
		t.Errorf("%s; %q", changes, notes)
	}
	exist[key("", "v1", "Namespace", "", "app-z")] = planning.Live{Object: object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: app-z}}")}
	changes, notes = plan(t, all[0], exist, nil)
	if changes != "" || !strings.Contains(fmt.Sprint(notes), "no AcmeNamespace owns it") {
		t.Errorf("%s; %q", changes, notes)
	}
}

func TestOfObject(t *testing.T) {
	live := object(t, `{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {name: c, labels: {a: b}, annotations: {x: old, kubectl.kubernetes.io/last-applied-configuration: "1"},
		resourceVersion: "1", managedFields: []}, spec: {cronSpec: "0 3 * * *", env: [{name: A, value: old}], replicas: 1}, status: {x: 1}}`)
	becomes := live.DeepCopy()
	becomes.SetResourceVersion("2")
	becomes.SetAnnotations(map[string]string{"x": "old", corev1.LastAppliedConfigAnnotation: "2"})
	if c := planning.OfObject(live, becomes); c.Action != planning.Nothing {
		t.Errorf("%+v", c)
	}
	becomes = object(t, `{apiVersion: batch.acme.com/v1alpha1, kind: CronTab, metadata: {name: c, annotations: {x: new}}, spec: {cronSpec: "0 4 * * *", env: [{name: A, value: new}], suspend: true}}`)
	got := fmt.Sprint(planning.OfObject(live, becomes).Fields)
	if want := "[{metadata.annotations.x  } {metadata.labels.a b } {spec.cronSpec 0 3 * * * 0 4 * * *} {spec.env[0].value  } {spec.replicas 1 } {spec.suspend  true}]"; got != want {
		t.Errorf("%s", got)
	}
	if c := planning.OfObject(nil, becomes); c.Action != planning.Create {
		t.Errorf("%+v", c)
	}
}

// TestPlanHidesValues: no value of a configuration or an annotation is in a plan, neither the former nor the new one.
func TestPlanHidesValues(t *testing.T) {
	with := func(value string) *unstructured.Unstructured {
		return object(t, strings.ReplaceAll(`{apiVersion: workloads.apps.acme.com/v1alpha1, kind: WebApp, metadata: {name: w, annotations: {xref: VALUE}}, spec: {
			config: {db.href: VALUE, DB_HREF: VALUE}, ingress: {annotations: {a.ref: VALUE}}, service: {annotations: {a: VALUE}},
			template: {metadata: {annotations: {a: VALUE}}}, args: [VALUE], env: [{name: A, value: VALUE}], shown: plain-VALUE}}`, "VALUE", value))
	}
	c := planning.OfObject(with("hunter1"), with("hunter2"))
	shown := 0
	for _, f := range c.Fields {
		if f.Path == "spec.shown" {
			shown++
		} else if f.From != "" || f.To != "" {
			t.Errorf("%+v", f)
		}
	}
	if len(c.Fields) != 9 || shown != 1 {
		t.Errorf("%+v", c)
	}
}

// TestStopped: nothing follows from an object that is paused or being deleted.
func TestStopped(t *testing.T) {
	k := plugin.Kind{Kind: "WebApp", Namespaced: true}
	o := object(t, webapp)
	if got := planning.Stopped(k, o); got != "" {
		t.Error(got)
	}
	o.SetDeletionTimestamp(&metav1.Time{Time: time.Now()})
	if got := planning.Stopped(k, o); !strings.Contains(got, "it is being deleted") {
		t.Error(got)
	}
	o.SetAnnotations(map[string]string{names.AnnotationPaused: "true"})
	if got := planning.Stopped(k, o); !strings.Contains(got, "it is paused") || !strings.Contains(got, "kubectl acme resume webapp/shop -n team-a") {
		t.Error(got)
	}
	if got := planning.Unplanned("DeploymentTier"); !strings.Contains(got, "every AcmeNamespace of this tier") {
		t.Error(got)
	}
}

// TestConfiguration: what this version does not know of a configuration is left out and said.
func TestConfiguration(t *testing.T) {
	const known = "apiVersion: config.acme.com/v1alpha1\nkind: PlatformOperatorConfig\n"
	defaults, err := planning.Configuration("")
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		known + "future: 1\n": `left out: unknown field "future"`,
		"kind: Other\n":       "assumes the defaults",
		"}{":                  "assumes the defaults",
	} {
		if config, err := planning.Configuration(text); config == nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		} else if strings.Contains(want, "defaults") && !reflect.DeepEqual(config, defaults) {
			t.Errorf("%s: %+v", text, config)
		}
	}
}

// TestScheduler: the image is that which the operator has for the API server.
func TestScheduler(t *testing.T) {
	o := object(t, "{apiVersion: scheduling.acme.com/v1alpha1, kind: SchedulerProfile, metadata: {name: p}, spec: {profiles: [{schedulerName: mine}]}}")
	if changes, _ := plan(t, o, nil, nil); !strings.Contains(changes, "create Deployment op p-schedulerprofile") {
		t.Error(changes)
	}
	unknown := knows(t)
	unknown.Environment = nil
	p, err := planning.For(o, unknown)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Want(nil); err == nil || !strings.Contains(err.Error(), "set spec.image") {
		t.Error(err)
	}
}

// TestNewerFields: a field of a newer operator is not passed over in silence.
func TestNewerFields(t *testing.T) {
	o := object(t, strings.Replace(webapp, "deploymentTier: dev", "deploymentTier: dev, future: 1", 1))
	changes, notes := plan(t, o, nil, nil)
	if !strings.Contains(changes, "create Deployment  shop") || !strings.Contains(fmt.Sprint(notes), `unknown field "spec.future"`) {
		t.Errorf("%s; %q", changes, notes)
	}
	o.SetKind("Future")
	if p, err := planning.For(o, knows(t)); p != nil || err != nil {
		t.Errorf("%v %v", p, err)
	}
}
