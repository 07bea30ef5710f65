// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/yaml"

	common "github.com/acme/platform-operator/api/common/v1alpha1"
	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files of this package again")

// app is the least that a WebApp has, of a tier.
func app(tier common.TierName, with ...func(*v1alpha1.WebAppSpec)) *v1alpha1.WebApp {
	a := &v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: v1alpha1.WebAppSpec{
		WebAppImage: "registry.acme.com/app/app:v1.4", WebAppHostname: "app.acme.com", DeploymentTier: tier,
	}}
	for _, w := range with {
		w(&a.Spec)
	}
	return a
}

// everything sets all that can be set at once.
func everything(s *v1alpha1.WebAppSpec) {
	percent := intstr.FromString("25%")
	s.WebAppReplicas, s.Port = new(int32(4)), 9000
	s.Ports = []v1alpha1.Port{{Name: "metrics", Port: 9090}, {Name: "dns", Port: 5353, Protocol: corev1.ProtocolUDP}}
	s.Command, s.Args = []string{"serve"}, []string{"--fast"}
	s.Env = []corev1.EnvVar{{Name: "B", Value: "2"}, {Name: "A"}, {Name: "S", ValueFrom: &corev1.EnvVarSource{
		SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}, Key: "k"},
	}}}
	s.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "s"}}}}
	s.Config = map[string]v1alpha1.FileContent{"b.ini": "x=1", "a.ini": "y=2"}
	s.RestartOnChange, s.DatabaseSecretRef = true, &v1alpha1.DatabaseSecretReference{Name: "db", DatabaseKey: new("dbname"), URIKey: new("")}
	s.Publish = &v1alpha1.Publish{ExternalName: new("www.acme.com")}
	s.Resources = &v1alpha1.Resources{Requests: amounts("1", "1Gi"), Limits: amounts("2", "2Gi")}
	s.Probes = &v1alpha1.Probes{
		Readiness: &v1alpha1.Probe{Path: new("/ready"), Port: new(int32(9090)), PeriodSeconds: new(int32(1))},
		Liveness:  &v1alpha1.Probe{Command: []string{"alive"}, InitialDelaySeconds: new(int32(7))},
		Startup:   &v1alpha1.Probe{FailureThreshold: new(int32(60))},
	}
	s.Ingress = &v1alpha1.Ingress{
		ClassName: new("nginx"), TLSSecretName: new("web-tls"), Path: "/shop",
		Annotations: map[string]v1alpha1.AnnotationValue{"cert-manager.io/cluster-issuer": "acme"},
	}
	s.Autoscaling = &v1alpha1.Autoscaling{Min: new(int32(3)), Max: 9, TargetCPU: new(int32(60))}
	s.Strategy = &v1alpha1.Strategy{MaxSurge: &percent}
	s.DrainSeconds, s.TerminationGracePeriodSeconds, s.RevisionHistoryLimit = new(int32(0)), new(int64(60)), new(int32(1))
	s.MaxUnavailable = &percent
	s.PodOverlay = v1alpha1.PodOverlay{
		Volumes: []v1alpha1.Volume{
			{Name: "data", PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"}},
			{Name: "tmp", EmptyDir: &corev1.EmptyDirVolumeSource{}},
		},
		VolumeMounts:              []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
		InitContainers:            []v1alpha1.Container{{Name: "wait", Image: "busybox", Command: []string{"true"}}},
		Sidecars:                  []v1alpha1.Container{{Name: "proxy", Image: "envoy", Resources: &v1alpha1.Resources{Limits: amounts("1", "1Gi")}}},
		ServiceAccountName:        new("robot"),
		ImagePullSecrets:          []corev1.LocalObjectReference{{Name: "pull"}},
		NodeSelector:              map[string]string{"disk": "ssd"},
		Tolerations:               []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		TopologySpreadConstraints: []v1alpha1.Spread{{TopologyKey: "rack", MaxSkew: 2, WhenUnsatisfiable: corev1.DoNotSchedule}},
		SchedulerName:             new("own"), PriorityClassName: new("high"),
		SecurityContext: &v1alpha1.SecurityContext{RunAsUser: new(int64(1000)), FSGroup: new(int64(2000)), ReadOnlyRootFilesystem: new(true)},
	}
}

var controllers = []metav1.LabelSelector{{MatchLabels: map[string]string{"tenancy.acme.com/reaches-tenants": "true"}}}

// manifests are the children as YAML, without the marks that the engine adds.
func manifests(t *testing.T, in input) string {
	t.Helper()
	deployment, err := in.deploymentIntent()
	if err != nil {
		t.Fatal(err)
	}
	list := []any{in.service(), deployment, in.ingress()}
	if in.app.Spec.Isolation != v1alpha1.IsolationNone {
		list = append(list, in.networkPolicy())
	}
	if in.app.Spec.ServiceAccountName == nil {
		list = append(list, corev1ac.ServiceAccount(in.name(), in.app.Namespace).WithAutomountServiceAccountToken(false))
	}
	if len(in.app.Spec.Config) > 0 {
		list = append(list, in.configMap(in.app))
	}
	if b := in.budget(); b != nil {
		list = append(list, b)
	}
	if in.app.Spec.Autoscaling != nil {
		list = append(list, in.autoscaler())
	}
	if w := in.watcher(in.watched(deployment.Spec.Template)); w != nil {
		list = append(list, w)
	}
	children, err := desired(in)
	if err != nil || len(children) != len(list) {
		t.Errorf("desired gives %d children, error %v; %d are checked here", len(children), err, len(list))
	}
	var docs []string
	for _, c := range list {
		text, err := yaml.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		docs = append(docs, string(text))
	}
	return strings.Join(docs, "---\n")
}

func TestChildren(t *testing.T) {
	for name, a := range map[string]*v1alpha1.WebApp{
		"dev": app(common.TierDev), "stg": app(common.TierStg), "prod": app(common.TierProd), "everything": app(common.TierProd, everything),
		"single": app(common.TierDev, func(s *v1alpha1.WebAppSpec) {
			s.WebAppReplicas, s.Isolation, s.Strategy = new(int32(1)), v1alpha1.IsolationNone, &v1alpha1.Strategy{Type: v1alpha1.StrategyRecreate}
		}),
	} {
		t.Run(name, func(t *testing.T) {
			got, file := manifests(t, input{app: a, controllers: controllers}), filepath.Join("testdata", name+".yaml")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("-want +got, or run with -update:\n%s", diff)
			}
		})
	}
}

// ours is a live Deployment of which the operator still holds what the intent says.
func ours(t *testing.T, a *v1alpha1.WebApp) *held {
	t.Helper()
	d, err := input{app: a}.deploymentIntent()
	if err != nil {
		t.Fatal(err)
	}
	live := &appsv1.Deployment{}
	text, err := yaml.Marshal(d)
	if err == nil {
		err = yaml.Unmarshal(text, live)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &held{ours: d, live: live}
}

func TestReplicasAreWhoseTheyAre(t *testing.T) {
	explicit := func(s *v1alpha1.WebAppSpec) { s.WebAppReplicas = new(int32(5)) }
	scaling := func(s *v1alpha1.WebAppSpec) { s.Autoscaling = &v1alpha1.Autoscaling{Min: new(int32(3)), Max: 9} }
	both := func(s *v1alpha1.WebAppSpec) { explicit(s); scaling(s) }
	nothing := func(*v1alpha1.WebAppSpec) {}
	taken := func(h *held) { h.ours.Spec.Replicas = nil }
	for _, tc := range []struct {
		reason    string
		spec      func(*v1alpha1.WebAppSpec)
		was       func(*v1alpha1.WebAppSpec) // nil: there is no Deployment
		meanwhile func(*held)
		want      *int32
	}{
		{"a new one gets the tier's", nothing, nil, nil, new(int32(3))},
		{"a new one gets what was asked for", explicit, nil, nil, new(int32(5))},
		{"a new one that scales gets the minimum", both, nil, nil, new(int32(3))},
		{"the default stays while nobody changes it", nothing, nothing, nil, new(int32(3))},
		{"the default is not forced on those who scale", nothing, nothing, taken, nil},
		{"what was asked for is", explicit, nothing, taken, new(int32(5))},
		{"the default is set again when nothing is asked for any more", nothing, explicit, nil, new(int32(3))},
		{"an autoscaler begins with what there is", both, explicit, nil, new(int32(5))},
		{"an autoscaler is not overruled", both, explicit, taken, nil},
		{"nor once it is gone", nothing, scaling, taken, nil},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			in := input{app: app(common.TierProd, tc.spec)}
			if tc.was != nil {
				in.deployment = ours(t, app(common.TierProd, tc.was))
			}
			if tc.meanwhile != nil {
				tc.meanwhile(in.deployment)
			}
			if diff := cmp.Diff(tc.want, in.replicas()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestResourcesAreWhoseTheyAre(t *testing.T) {
	a := app(common.TierDev)
	resourcesOf := func(h *held) *corev1ac.ResourceRequirementsApplyConfiguration {
		return input{app: a, deployment: h}.resources()
	}
	untouched := ours(t, a)
	if diff := cmp.Diff(given(v1alpha1.Resources{Requests: amounts("100m", "128Mi"), Limits: amounts("500m", "512Mi")}), resourcesOf(untouched)); diff != "" {
		t.Errorf("untouched, -want +got:\n%s", diff)
	}

	limited := ours(t, a) // kubectl set resources --limits=cpu=2
	delete(*limited.ours.Spec.Template.Spec.Containers[0].Resources.Limits, corev1.ResourceCPU)
	limited.live.Spec.Template.Spec.Containers[0].Resources.Limits[corev1.ResourceCPU] = amounts("2", "1")[corev1.ResourceCPU]
	got := resourcesOf(limited)
	if _, has := (*got.Limits)[corev1.ResourceCPU]; has || len(*got.Limits) != 1 || len(*got.Requests) != 2 {
		t.Errorf("a limit that somebody else has set is forced back: %+v", got)
	}

	dropped := ours(t, a) // what was asked for before had no limit of cpu
	delete(*dropped.ours.Spec.Template.Spec.Containers[0].Resources.Limits, corev1.ResourceCPU)
	delete(dropped.live.Spec.Template.Spec.Containers[0].Resources.Limits, corev1.ResourceCPU)
	if got := resourcesOf(dropped); len(*got.Limits) != 2 {
		t.Errorf("a default is not set again: %+v", got)
	}

	taken := ours(t, a)
	taken.ours.Spec.Template.Spec.Containers = []corev1ac.ContainerApplyConfiguration{*corev1ac.Container().WithName(containerName)}
	if got := resourcesOf(taken); got != nil {
		t.Errorf("all of them are somebody else's, and are forced back: %+v", got)
	}
	a.Spec.Resources = &v1alpha1.Resources{Requests: amounts("1", "1Gi")}
	if diff := cmp.Diff(given(*a.Spec.Resources), resourcesOf(taken)); diff != "" {
		t.Errorf("what was asked for, -want +got:\n%s", diff)
	}
	if got := resourcesOf(&held{ours: appsv1ac.Deployment("web", "shop"), live: &appsv1.Deployment{}}); got == nil {
		t.Error("nothing is said of a Deployment without a template")
	}
}

func TestWhatTheAPIServerFillsInIsWritten(t *testing.T) {
	ref := corev1.EnvVar{Name: "P", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}}
	given := []corev1.EnvVar{{Name: "A", Value: "b"}, ref}
	got := variables(given)
	if len(got) != 2 || got[1].ValueFrom.FieldRef.APIVersion != "v1" || got[0] != given[0] || ref.ValueFrom.FieldRef.APIVersion != "" {
		t.Errorf("got %+v", got)
	}
}

func TestPortsClashByName(t *testing.T) {
	in := input{app: app(common.TierDev, func(s *v1alpha1.WebAppSpec) { s.Ports = []v1alpha1.Port{{Name: "metrics", Port: 9090}} })}
	for _, tc := range []struct {
		name     string
		port     int32
		protocol corev1.Protocol
		want     bool
	}{
		{"http", 80, corev1.ProtocolTCP, false},
		{"http", 81, corev1.ProtocolTCP, true},
		{"metrics", 9090, corev1.ProtocolUDP, true},
		{"theirs", 81, corev1.ProtocolTCP, false},
		{"theirs", 80, corev1.ProtocolTCP, false},
	} {
		live := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: tc.name, Port: tc.port, Protocol: tc.protocol}}}}
		if got := in.clashes(live); got != tc.want {
			t.Errorf("%s %d/%s: got %v", tc.name, tc.port, tc.protocol, got)
		}
	}
}

// TestAnUpgradeRollsNoPod pins the pods' templates. One that changes restarts every pod of every WebApp when the operator is
// upgraded: make what is new depend on a field of the spec that nobody has set yet.
func TestAnUpgradeRollsNoPod(t *testing.T) {
	for reason, tc := range map[string]struct {
		app  *v1alpha1.WebApp
		want string
	}{
		"dev":  {app(common.TierDev), "031581cd8ffd"},
		"stg":  {app(common.TierStg), "ae4fac7d5707"},
		"prod": {app(common.TierProd), "959e7ad62818"},
		"with options": {app(common.TierProd, func(s *v1alpha1.WebAppSpec) {
			s.Port, s.Ports = 9000, []v1alpha1.Port{{Name: "dns", Port: 5353, Protocol: corev1.ProtocolUDP}}
			s.Command, s.Args, s.Env = []string{"serve"}, []string{"--fast"}, []corev1.EnvVar{{Name: "A"}, {Name: "B", Value: "2"}}
			s.Config = map[string]v1alpha1.FileContent{"b.ini": "x=1", "a.ini": "y=2"}
			s.Resources = &v1alpha1.Resources{Requests: amounts("1", "1Gi")}
			s.Probes = &v1alpha1.Probes{Readiness: &v1alpha1.Probe{Path: new("/ready")}, Startup: &v1alpha1.Probe{}}
			s.DrainSeconds, s.ServiceAccountName = new(int32(0)), new("robot")
			s.Volumes = []v1alpha1.Volume{{Name: "tmp", EmptyDir: &corev1.EmptyDirVolumeSource{}}}
			s.VolumeMounts = []corev1.VolumeMount{{Name: "tmp", MountPath: "/tmp"}}
			s.Sidecars = []v1alpha1.Container{{Name: "proxy", Image: "envoy"}}
			s.SecurityContext = &v1alpha1.SecurityContext{RunAsUser: new(int64(1000))}
		}), "dca371e3ce93"},
	} {
		t.Run(reason, func(t *testing.T) {
			template, err := input{app: tc.app}.template()
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.Marshal(template)
			if err != nil {
				t.Fatal(err)
			}
			if got := fmt.Sprintf("%x", sha256.Sum256(text))[:12]; got != tc.want {
				t.Errorf("the template is another one: %s, not %s:\n%s", got, tc.want, text)
			}
		})
	}
}
