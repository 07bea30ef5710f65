// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	crontabv1alpha1 "github.com/acme/platform-operator/api/batch/v1alpha1"
	tenancyv1alpha1 "github.com/acme/platform-operator/api/tenancy/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/workload"
)

var (
	ourMarks = map[string]string{names.LabelManagedBy: names.Operator, names.LabelOwnerUID: "uid"}
	ofCron   = []metav1.OwnerReference{{APIVersion: "batch.acme.com/v1alpha1", Kind: "CronTab", Name: "c", UID: "uid", Controller: new(true)}}
	ofOther  = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "CronJob", Name: "c", UID: "uid", Controller: new(true)}}
	large    = strings.Repeat("x", 900<<10)
)

// full is metadata with something in every field that may be large.
func full(name string, owner []metav1.OwnerReference) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace: "n", Name: name, UID: "u", ResourceVersion: "7", Generation: 3, Finalizers: []string{"f"},
		Labels: map[string]string{"theirs": "x", names.LabelManagedBy: names.Operator, names.LabelOwnerUID: "uid"},
		Annotations: map[string]string{
			"kubectl.kubernetes.io/last-applied-configuration": "secret", "autoreboot.acme.com/podSelector": "app=a", "acme.com.example.com/x": "y",
			names.AnnotationOwner: "crontab/n/c",
		},
		OwnerReferences: owner,
		ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: "platform-operator-rollout"}},
	}
	return m
}

// cached is what the cache holds of an object.
func cached[O client.Object](t *testing.T, o O) O {
	t.Helper()
	options := cacheOptions(Kinds)
	transform := options.DefaultTransform
	if by, ok := byObject(options, o); ok {
		transform = by.Transform
	}
	once, err := transform(o)
	if err != nil {
		t.Fatal(err)
	}
	again, err := transform(once.(client.Object).DeepCopyObject())
	if diff := cmp.Diff(once, again); err != nil || diff != "" {
		t.Errorf("%T changes when it is cut again: %v\n%s", o, err, diff)
	}
	return once.(O)
}

func byObject(options cache.Options, o client.Object) (cache.ByObject, bool) {
	for of, by := range options.ByObject {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		if reflect.TypeOf(of) == reflect.TypeOf(o) || kind != "" && reflect.TypeOf(of).Elem().Name() == kind {
			return by, true
		}
	}
	return cache.ByObject{}, false
}

func metadataOf(kind string, m metav1.ObjectMeta) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: kind}, ObjectMeta: m}
}

func TestOfConfigMapsAndSecretsOnlyOurMarksAreHeld(t *testing.T) {
	for _, kind := range []string{"ConfigMap", "Secret"} {
		got := cached(t, metadataOf(kind, full("o", ofOther)))
		want := metadataOf(kind, metav1.ObjectMeta{
			Namespace: "n", Name: "o", UID: "u", ResourceVersion: "7", Generation: 3, Labels: ourMarks,
			Annotations: map[string]string{"autoreboot.acme.com/podSelector": "app=a", names.AnnotationOwner: "crontab/n/c"},
		})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	whole := cached(t, &corev1.ConfigMap{ObjectMeta: full("o", nil), Data: map[string]string{"a": "b"}})
	if len(whole.Data) > 0 || !engine.IsCut(whole) {
		t.Errorf("a foreign ConfigMap is held with its content: %+v", whole)
	}
}

func TestOfNodesOnlyLabelsAreHeld(t *testing.T) {
	m := full("o", ofOther)
	m.Namespace = ""
	want := metadataOf("Node", metav1.ObjectMeta{
		Name: "o", UID: "u", ResourceVersion: "7", Generation: 3,
		Labels: map[string]string{"theirs": "x", names.LabelManagedBy: names.Operator, names.LabelOwnerUID: "uid"},
	})
	if diff := cmp.Diff(want, cached(t, metadataOf("Node", m))); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	whole := cached(t, &corev1.Node{ObjectMeta: m, Status: corev1.NodeStatus{Images: []corev1.ContainerImage{{}}}})
	if len(whole.Status.Images) > 0 || whole.Labels["theirs"] != "x" || !engine.IsCut(whole) {
		t.Errorf("a Node is held with its status: %+v", whole)
	}
}

func TestChildrenAreHeldWhole(t *testing.T) {
	template := corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c"}}}}
	d := cached(t, &appsv1.Deployment{ObjectMeta: full("o", ofCron), Spec: appsv1.DeploymentSpec{Template: template}})
	if len(d.Spec.Template.Spec.Containers) != 1 || len(d.ManagedFields) != 1 || engine.IsCut(d) {
		t.Errorf("a Deployment that one of our kinds controls is held as %+v", d)
	}
	if c := cached(t, &corev1.ConfigMap{ObjectMeta: full("o", ofCron), Data: map[string]string{"a": "b"}}); c.Data["a"] != "b" {
		t.Errorf("a ConfigMap that one of our kinds controls is held as %+v", c)
	}
}

func TestEndpointSlicesAreFoundByTheirService(t *testing.T) {
	slice := func(endpoints int) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: full("o", ofOther)}
		s.Labels[discoveryv1.LabelServiceName] = "ledger-members"
		for range endpoints {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{"10.128.100.100"}, NodeName: new("node-1"),
				TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "n", Name: "ledger-7c5ddbdf54-2x9xk", UID: "5a8b3a4e-54c2-4a9b-8f2c-7f1f4b1f3f10"},
			})
		}
		return s
	}
	for endpoints, cut := range map[int]bool{3: false, 100: true, 1000: true} {
		got := cached(t, cached(t, slice(endpoints)))
		if engine.IsCut(got) != cut || cut != (len(got.Endpoints) == 0) {
			t.Errorf("of %d endpoints, %d are held; cut: %t", endpoints, len(got.Endpoints), engine.IsCut(got))
		}
		if got.Labels[discoveryv1.LabelServiceName] != "ledger-members" || got.Labels[names.LabelManagedBy] != names.Operator {
			t.Errorf("with %d endpoints it is not found: %v", endpoints, got.Labels)
		}
	}
}

func TestWorkloadsAreHeldWithoutTheirPods(t *testing.T) {
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "a"}, Annotations: map[string]string{"theirs.example.com/x": "y", "autoreboot.acme.com/k.n": "m"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: large}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}}
	for _, in := range []client.Object{
		&appsv1.Deployment{ObjectMeta: full("o", ofOther), Spec: appsv1.DeploymentSpec{Template: *template.DeepCopy(), Selector: selector, Paused: true, Replicas: new(int32(2))}, Status: appsv1.DeploymentStatus{
			Conditions: []appsv1.DeploymentCondition{{Reason: "NewReplicaSetAvailable", Message: large}, {Reason: workload.ProgressDeadlineExceeded, Message: large}},
		}},
		&appsv1.StatefulSet{ObjectMeta: full("o", ofOther), Spec: appsv1.StatefulSetSpec{Template: *template.DeepCopy(), Selector: selector}},
		&appsv1.DaemonSet{ObjectMeta: full("o", nil), Spec: appsv1.DaemonSetSpec{Template: *template.DeepCopy(), Selector: selector}},
	} {
		var got corev1.PodTemplateSpec
		switch o := cached(t, in).(type) {
		case *appsv1.Deployment:
			got = o.Spec.Template
			if !o.Spec.Paused || *o.Spec.Replicas != 2 || o.Generation != 3 || len(o.ManagedFields) != 1 ||
				!slices.Equal(o.Status.Conditions, []appsv1.DeploymentCondition{{Reason: workload.ProgressDeadlineExceeded}}) {
				t.Errorf("a Deployment lost the state of its rollout: %+v", o)
			}
			if o.Annotations[names.AnnotationTemplate] != workload.Fingerprint(&template) {
				t.Errorf("a Deployment lost what identifies its template: %v", o.Annotations)
			}
		case *appsv1.StatefulSet:
			got = o.Spec.Template
		case *appsv1.DaemonSet:
			got = o.Spec.Template
		}
		if len(got.Spec.Containers) > 0 || len(got.Annotations) != 1 || engine.IsCut(in) {
			t.Errorf("%T: %+v", in, got)
		}
		if got.Labels["app"] != "a" || got.Annotations["autoreboot.acme.com/k.n"] != "m" {
			t.Errorf("%T lost its labels or its mark: %+v", in, got)
		}
	}
}

func TestRunsAreHeldWithoutTheirPods(t *testing.T) {
	job := func(owner []metav1.OwnerReference) *batchv1.Job {
		return &batchv1.Job{
			ObjectMeta: full("j", owner),
			Spec: batchv1.JobSpec{Parallelism: new(int32(2)), Selector: &metav1.LabelSelector{}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": large}},
			}},
			Status: batchv1.JobStatus{CompletedIndexes: large, Active: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete}}},
		}
	}
	run := cached(t, job(ofCron))
	want := &batchv1.Job{
		ObjectMeta: full("j", ofCron), Spec: batchv1.JobSpec{Parallelism: new(int32(2))},
		Status: batchv1.JobStatus{Active: 1, Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete}}},
	}
	dropTheirs(&want.ObjectMeta)
	if diff := cmp.Diff(want, run); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	foreign := cached(t, job(ofOther))
	if foreign.Spec.Parallelism != nil || len(foreign.Status.Conditions) > 0 || foreign.OwnerReferences[0].Kind != "CronJob" {
		t.Errorf("a foreign Job is held as %+v", foreign)
	}
}

// dropTheirs takes away what is not the operator's.
func dropTheirs(m *metav1.ObjectMeta) {
	m.ManagedFields = nil
	delete(m.Labels, "theirs")
	delete(m.Annotations, "acme.com.example.com/x")
	delete(m.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
}

func TestGuardrailsAreHeldByNameWhateverTheirMarks(t *testing.T) {
	rules := []rbacv1.PolicyRule{{Resources: []string{"pods"}}}
	if own := cached(t, &rbacv1.Role{ObjectMeta: full("namespace-admin", nil), Rules: rules}); len(own.Rules) != 1 || len(own.ManagedFields) != 1 || engine.IsCut(own) {
		t.Errorf("the administrator's Role is held as %+v", own)
	}
	if marked := cached(t, &rbacv1.Role{ObjectMeta: full("mine", nil), Rules: rules}); len(marked.Rules) > 0 || !engine.IsCut(marked) {
		t.Errorf("a Role with our marks is held as %+v", marked)
	}
	big := &rbacv1.Role{ObjectMeta: full("namespace-admin", nil), Rules: []rbacv1.PolicyRule{{Resources: strings.Split(large, "")}}}
	if cut := cached(t, big); len(cut.Rules) > 0 || !engine.IsCut(cut) || cut.Annotations[names.AnnotationOwner] == "" {
		t.Errorf("a large Role of the name is held as %+v", cut)
	}
	options := cacheOptions(Kinds)
	for o, want := range map[client.Object]string{
		&rbacv1.Role{}: "metadata.name=namespace-admin", &rbacv1.RoleBinding{}: "metadata.name=namespace-admin",
		&corev1.LimitRange{}: "metadata.name=defaults", &corev1.ResourceQuota{}: "",
	} {
		by, _ := byObject(options, o)
		got := ""
		if by.Field != nil {
			got = by.Field.String()
		}
		if got != want || by.Label != nil {
			t.Errorf("of %T is asked for %q, %v", o, got, by.Label)
		}
	}
}

func TestTypesWithChildrenOfAnyNameAreNotSelectedByName(t *testing.T) {
	two := append([]Kind{{Object: &crontabv1alpha1.CronTab{}, Holds: []engine.Held{{Of: &rbacv1.Role{}}}}}, Kinds...)
	by, _ := byObject(cacheOptions(two), &rbacv1.Role{})
	if by.Field != nil {
		t.Errorf("selects %s", by.Field)
	}
	for owner, whole := range map[*metav1.OwnerReference]bool{&ofCron[0]: true, &ofOther[0]: false} {
		got, err := by.Transform(&rbacv1.Role{ObjectMeta: full("x", []metav1.OwnerReference{*owner}), Rules: []rbacv1.PolicyRule{{}}})
		if err != nil || (len(got.(*rbacv1.Role).Rules) == 1) != whole {
			t.Errorf("of %s: %+v, %v", owner.Kind, got, err)
		}
	}
}

func TestALargeWebAppIsFoundByItsHostNamesAndDatabase(t *testing.T) {
	spec := workloadsv1alpha1.WebAppSpec{
		Publish: &workloadsv1alpha1.Publish{ExternalName: new("www.acme.com")}, DatabaseSecretRef: &workloadsv1alpha1.DatabaseSecretReference{Name: "db"},
		WebAppHostname: "app.acme.com", Ingress: &workloadsv1alpha1.Ingress{Path: "/shop", ClassName: new("nginx")},
		Config: map[string]workloadsv1alpha1.FileContent{"a": workloadsv1alpha1.FileContent(large)},
	}
	got := cached(t, &workloadsv1alpha1.WebApp{ObjectMeta: full("o", nil), Spec: spec, Status: workloadsv1alpha1.WebAppStatus{Claims: []string{"app.acme.com/shop", "www.acme.com/shop"}}})
	if !engine.IsCut(got) || !fits(got, maxHeld) || got.Spec.WebAppHostname != "app.acme.com" || got.Spec.Ingress.Path != "/shop" || len(got.Status.Claims) != 2 || *got.Spec.Publish.ExternalName != "www.acme.com" || got.Spec.DatabaseSecretRef.Name != "db" {
		t.Errorf("it is held as %+v", got)
	}
	spec.Config = nil
	if small := cached(t, &workloadsv1alpha1.WebApp{ObjectMeta: full("o", nil), Spec: spec}); engine.IsCut(small) {
		t.Errorf("a small one is cut: %+v", small)
	}
}

func TestNothingLargeIsHeldWhole(t *testing.T) {
	crowd := full("o", nil)
	for i := range 3000 {
		crowd.Labels[fmt.Sprintf("a%d.acme.com/x", i)] = strings.Repeat("x", 63)
		crowd.Finalizers = append(crowd.Finalizers, fmt.Sprintf("example.com/f%d", i))
		crowd.OwnerReferences = append(crowd.OwnerReferences, metav1.OwnerReference{Name: fmt.Sprint(i)})
	}
	crowd.Annotations["autoreboot.acme.com/large"] = large
	crowd.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "platform-operator-x", FieldsV1: metav1.NewFieldsV1(large)}}
	for _, in := range []client.Object{
		&autorebootv1alpha1.ConfigWatcher{ObjectMeta: crowd},
		&crontabv1alpha1.CronTab{ObjectMeta: full("o", nil), Spec: crontabv1alpha1.CronTabSpec{Args: []string{large}}},
		&appsv1.Deployment{ObjectMeta: full("o", nil), Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: crowd}}},
		&batchv1.Job{ObjectMeta: crowd},
		&rbacv1.Role{ObjectMeta: crowd},
		metadataOf("ConfigMap", crowd),
		metadataOf("Secret", crowd),
	} {
		held := cached(t, in.DeepCopyObject().(client.Object))
		if !fits(held, 3*maxMarks) || !engine.IsCut(held) {
			t.Errorf("%T is held as %+v", in, held)
		}
		if held.GetName() != in.GetName() || held.GetUID() != "u" || held.GetResourceVersion() != "7" {
			t.Errorf("%T is not found any more: %+v", in, held)
		}
	}
	n := &tenancyv1alpha1.AcmeNamespace{ObjectMeta: crowd, Spec: tenancyv1alpha1.AcmeNamespaceSpec{NamespaceName: "n"}}
	n.Namespace = ""
	if held := cached(t, n); held.Spec.NamespaceName != "n" || !fits(held, maxHeld) {
		t.Errorf("an AcmeNamespace is held without its spec: %+v", held)
	}
}

// TestNoLongTextIsHeld fills each string of each type that is cached, and lets a controller be named that nobody checks.
func TestNoLongTextIsHeld(t *testing.T) {
	cachedTypes := slices.Collect(maps.Keys(cacheOptions(Kinds).ByObject))
	for _, k := range Kinds {
		cachedTypes = append(append(cachedTypes, k.Object), k.Reads...)
	}
	long := strings.Repeat("x", 100<<10)
	controllers := map[string]metav1.OwnerReference{
		"none":             {},
		"of a long name":   {APIVersion: "example.com/v1", Kind: "Unknown", Name: long, UID: "u", Controller: new(true)},
		"of a long UID":    {APIVersion: "example.com/v1", Kind: "Unknown", Name: "o", UID: types.UID(long), Controller: new(true)},
		"of a long kind":   {APIVersion: "example.com/v1", Kind: long, Name: "o", UID: "u", Controller: new(true)},
		"of a long group":  {APIVersion: long + "/v1", Kind: "Unknown", Name: "o", UID: "u", Controller: new(true)},
		"of ours, claimed": {APIVersion: "workloads.apps.acme.com/v1alpha1", Kind: "WebApp", Name: long, UID: "u", Controller: new(true)},
	}
	for _, o := range cachedTypes {
		for controller, ref := range controllers {
			in := reflect.New(reflect.TypeOf(o).Elem()).Interface().(client.Object)
			testenv.Fill(in, long)
			in.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			if slice, is := in.(*discoveryv1.EndpointSlice); is {
				slice.AddressType = discoveryv1.AddressTypeIPv4 // the API server takes no other than those that it knows
			}
			in.SetNamespace("ns")
			in.SetName("o")
			in.SetUID("u")
			in.SetResourceVersion("7")
			in.SetOwnerReferences(nil)
			if ref.Controller != nil {
				in.SetOwnerReferences([]metav1.OwnerReference{ref})
			}
			if held := cached(t, in); !fits(held, maxHeld) {
				t.Errorf("a %T with a controller %s is held with a long text: %.2000v", in, controller, held)
			}
		}
	}
}

func TestWhatIsNoObjectIsHeldAsItIs(t *testing.T) {
	if got, err := cacheOptions(Kinds).DefaultTransform("a tombstone"); got != "a tombstone" || err != nil {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestFits(t *testing.T) {
	for reason, row := range map[string]struct {
		value any
		most  int
	}{
		"text":                 {strings.Repeat("x", 100), 100},
		"bytes":                {make([]byte, 100), 100},
		"texts":                {[]string{"abc", "de"}, 32 + 5},
		"a map":                {map[string]string{"a": "bc"}, 32 + perEntry + 3},
		"what a pointer means": {new(int64(1)), 8},
		"a time":               {metav1.Now(), 0},
		"nothing":              {(*corev1.Pod)(nil), 0},
	} {
		if !fits(row.value, row.most) || fits(row.value, row.most-1) {
			t.Errorf("%s does not take %d bytes", reason, row.most)
		}
	}
}
