// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package guarantees

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var _ = fixture("WebApp", webApps{})

// webApps is the fixture of WebApp. Nothing here runs pods or serves Ingresses: a stand-in reports that they do.
type webApps struct{ Ordinary }

func webApp(o engine.Object) *v1alpha1.WebApp { return o.(*v1alpha1.WebApp) }

func webAppNamed(unique string) *v1alpha1.WebApp {
	return &v1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Name: unique, Namespace: unique}}
}

// Configuration implements Fixture.
func (webApps) Configuration() string { return "webApp: {retryMax: 1s}\n" }

// LeavesOut implements Fixture.
func (webApps) LeavesOut() map[string]string {
	return map[string]string{
		"G4 deletion":           "it has no finalizer: its deletion is one request, of the user's, and its children go by their owner references",
		"G6 lingering children": "it has no finalizer: it goes at once, and its children follow by their owner references",
		"G7 finalizer":          "it has none: its deletion needs no operator",
	}
}

// Prepare implements Fixture. The stand-in watches: lists of all that there is would keep the API server busy. What it could not
// write, it tries again with the next resync.
func (webApps) Prepare() {
	factory := informers.NewSharedInformerFactory(clientset(), 5*time.Second)
	nameOf := func(owner string) string { return names.Child(owner, "") }
	attend(factory.Apps().V1().Deployments().Informer(), "WebApp", nameOf, runPods)
	attend(factory.Networking().V1().Ingresses().Informer(), "WebApp", nameOf, giveAddress)
	untilTheEnd(factory)
}

func untilTheEnd(factory informers.SharedInformerFactory) {
	done := make(chan struct{})
	factory.Start(done)
	DeferCleanup(func() {
		close(done)
		factory.Shutdown()
	})
}

// attend does something to the present state of each object that one of a kind controls and that has the name of its child, again
// and again.
func attend[O client.Object](informer cache.SharedIndexInformer, kind string, nameOf func(owner string) string, do func(O)) {
	GinkgoHelper()
	look := func(o any) {
		live := o.(O)
		if owner := metav1.GetControllerOf(live); owner != nil && owner.Kind == kind && live.GetName() == nameOf(owner.Name) {
			do(live.DeepCopyObject().(O))
		}
	}
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: look, UpdateFunc: func(_, o any) { look(o) }})
	Expect(err).NotTo(HaveOccurred())
}

// neverServes is the image of a WebApp whose pods do not run.
const neverServes = "never:1"

// runPods reports that the pods of a Deployment run.
func runPods(d *appsv1.Deployment) {
	n := *d.Spec.Replicas
	want := appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: n, UpdatedReplicas: n, ReadyReplicas: n, AvailableReplicas: n}
	if d.Spec.Template.Spec.Containers[0].Image != neverServes && !equality.Semantic.DeepEqual(d.Status, want) {
		d.Status = want
		_ = Admin.Status().Update(context.Background(), d) // it may have changed, or be gone
	}
}

// giveAddress reports that an Ingress has an address.
func giveAddress(ingress *networkingv1.Ingress) {
	if len(ingress.Status.LoadBalancer.Ingress) == 0 {
		ingress.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		_ = Admin.Status().Update(context.Background(), ingress) // it may have changed, or be gone
	}
}

// Name implements Fixture.
func (webApps) Name(sample engine.Object, unique string) {
	s := &webApp(sample).Spec
	s.WebAppHostname = unique + ".acme.com"
	s.Config = map[string]v1alpha1.FileContent{"app.ini": "log=info"}
	s.Env = []corev1.EnvVar{{Name: "B", Value: "2"}, {Name: "A"}}
	s.RestartOnChange, s.DatabaseSecretRef = true, &v1alpha1.DatabaseSecretReference{Name: "canary-db"}
}

// Surround implements Fixture: the database whose Secret it names.
func (webApps) Surround(unique string) {
	Create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "canary-db", Namespace: unique}, StringData: map[string]string{
		"host": canary, "port": canary, "username": canary, "password": canary, "database": canary, "uri": canary,
	}})
}

// Reads implements Fixture: whether the Secret of the database has its keys, and what its ConfigWatcher reads of it.
func (webApps) Reads() float64 { return 3 }

// Change implements Fixture.
func (webApps) Change(o engine.Object, _ string) {
	most := intstr.FromInt32(2)
	webApp(o).Spec.Strategy = &v1alpha1.Strategy{MaxSurge: &most} // a new image is a new revision: two writes
}

// Action implements Fixture.
func (webApps) Action(unique string) string {
	return "PATCH namespaces/" + unique + "/deployments/" + unique
}

// Transitions implements Fixture.
func (webApps) Transitions() map[string]func(engine.Object) {
	return map[string]func(engine.Object){
		"asking for no isolation, an account of its own and one pod": func(o engine.Object) {
			s := &webApp(o).Spec
			s.Isolation, s.ServiceAccountName, s.WebAppReplicas, s.Config = v1alpha1.IsolationNone, new("robot"), new(int32(1)), nil
		},
		"asking for no database, no restarts and an external name": func(o engine.Object) {
			s := &webApp(o).Spec
			s.RestartOnChange, s.DatabaseSecretRef, s.Publish = false, nil, &v1alpha1.Publish{ExternalName: new("www." + s.WebAppHostname)}
		},
	}
}

// Happenings implements Fixture.
func (webApps) Happenings() []Happening {
	return []Happening{{
		Name: "a new version",
		Do: func(unique string) {
			Patch(webAppNamed(unique), `{"spec":{"webAppImage":"registry.acme.com/app/app:v2"}}`)
		},
		Done: func(unique string) error {
			a := webAppNamed(unique)
			if err := Reload(a); err != nil || a.Status.ServingRevision == 2 {
				return err
			}
			return fmt.Errorf("revision %d serves", a.Status.ServingRevision)
		},
	}}
}

// Rivals implements contested: what one tenant tries to have of another's host name.
func (webApps) Rivals(victim engine.Object, place string) (all []Rival) {
	had := webApp(victim)
	const taken = "False HostnameTaken"
	rival := func(name, ready string, change func(*v1alpha1.WebApp)) {
		a := webAppNamed(place)
		a.Name, a.Spec.WebAppImage, a.Spec.DeploymentTier = name, had.Spec.WebAppImage, had.Spec.DeploymentTier
		a.Spec.WebAppHostname, a.Spec.Ingress = place+"-"+name+".acme.com", &v1alpha1.Ingress{WaitForAddress: new(false)}
		change(a)
		all = append(all, Rival{Name: name, Object: a, Ready: ready, Refused: ready == ""})
	}
	annotated := func(key string) func(*v1alpha1.WebApp) {
		return func(a *v1alpha1.WebApp) {
			a.Spec.Ingress.Annotations = map[string]v1alpha1.AnnotationValue{key: v1alpha1.AnnotationValue(had.Spec.WebAppHostname)}
		}
	}
	rival("same-host", taken, func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = had.Spec.WebAppHostname })
	rival("same-record", taken, func(a *v1alpha1.WebApp) {
		a.Spec.WebAppHostname, a.Status.Claims, a.Status.URL = had.Spec.WebAppHostname, had.Status.Claims, had.Status.URL
		a.CreationTimestamp = metav1.Unix(0, 0)
	})
	rival("external-name", taken, func(a *v1alpha1.WebApp) { a.Spec.Publish = &v1alpha1.Publish{ExternalName: &had.Spec.WebAppHostname} })
	rival("another-path", "True Ready", func(a *v1alpha1.WebApp) {
		a.Spec.WebAppHostname, a.Spec.Ingress.Path = had.Spec.WebAppHostname, "/rival/"
	})
	rival(had.Name, "True Ready", func(*v1alpha1.WebApp) {})
	rival("its-secret", "False WaitingForDatabase", func(a *v1alpha1.WebApp) {
		a.Spec.DatabaseSecretRef = had.Spec.DatabaseSecretRef
	})
	rival("upper-case", "", func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = strings.ToUpper(had.Spec.WebAppHostname) })
	rival("wildcard", "", func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname = "*.acme.com" })
	rival("double-slash", "", func(a *v1alpha1.WebApp) { a.Spec.WebAppHostname, a.Spec.Ingress.Path = had.Spec.WebAppHostname, "//" })
	rival("dots", "", func(a *v1alpha1.WebApp) {
		a.Spec.WebAppHostname, a.Spec.Ingress.Path = had.Spec.WebAppHostname, "/a/.."
	})
	for name, key := range map[string]string{
		"alias": "nginx.ingress.kubernetes.io/server-alias", "snippet": "nginx.ingress.kubernetes.io/server-snippet",
		"kong": "konghq.com/host-aliases", "gateway": "appgw.ingress.kubernetes.io/hostname-extension",
		"certificate": "cert-manager.io/common-name", "dns": "external-dns.kubernetes.io/hostname",
		"ours": "platform.acme.com/owner", "rule": "traefik.ingress.kubernetes.io/router.pathmatcher",
	} {
		rival(name, "", annotated(key))
	}
	return all
}

// Invalidate implements Fixture.
func (webApps) Invalidate(o *unstructured.Unstructured) {
	for path, value := range map[string]any{"deploymentTier": "qa", "webAppImage": "a b", "webAppHostname": "*", "port": int64(0), "rollbackTo": int64(0)} {
		Expect(unstructured.SetNestedField(o.Object, value, "spec", path)).To(Succeed())
	}
}

// Tamper implements Fixture.
func (webApps) Tamper(child *unstructured.Unstructured) []string {
	return map[string][]string{
		"ControllerRevision":  {`{"revision":99}`},
		"ConfigWatcher":       {`{"spec":{"podSelector":{"workloads.apps.acme.com/webapp":"other"}}}`, `{"spec":{"sources":[{"kind":"Secret","name":"canary-db"}]}}`},
		"ConfigMap":           {`{"metadata":{"annotations":{"platform.acme.com/owner":"x"}}}`},
		"Deployment":          {`{"spec":{"template":{"spec":{"serviceAccountName":"admin","serviceAccount":"admin"}}}}`, `{"spec":{"strategy":{"type":"Recreate","rollingUpdate":null}}}`},
		"Ingress":             {`{"spec":{"rules":[{"host":"mallory.example.com"}]}}`},
		"NetworkPolicy":       {`{"spec":{"ingress":[{}]}}`, `{"spec":{"podSelector":{"matchLabels":{"app":"none"}}}}`},
		"PodDisruptionBudget": {`{"spec":{"maxUnavailable":"100%"}}`},
		"Service":             {`{"spec":{"selector":{"app":"none"}}}`, `{"spec":{"ports":[{"name":"http","port":81}]}}`},
		"ServiceAccount":      {`{"automountServiceAccountToken":true}`},
	}[child.GetKind()]
}

// Foreign implements Fixture: what kubectl rollout restart does. The sample says how many replicas there are; what is left to
// others when it does not is for the kind's own suite.
func (webApps) Foreign(other *unstructured.Unstructured) []string {
	switch other.GetKind() {
	case "ConfigWatcher":
		return []string{`{"spec":{"restart":{"debounce":"7s"}}}`}
	case "Deployment":
	default:
		return nil
	}
	return []string{
		`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"2026-01-01T00:00:00Z"}}}}}`,
	}
}

// Breakages implements Fixture.
func (webApps) Breakages() []Breakage {
	service := func(unique string) *corev1.Service { return serviceOfOther(unique, unique) }
	const class = "g12-class"
	return []Breakage{
		serviceTaken(service, webApps{}.Surround, func(unique string) client.Object { return webAppNamed(unique) }),
		{
			Name: "that the Secret of its database is gone",
			Break: func(unique string) {
				Remove(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: unique, Name: "canary-db"}})
			},
			Mend:   func(unique string) { webApps{}.Surround(unique) },
			Reason: "WaitingForDatabase", Status: status.InProgressStatus,
		},
		{
			Name:  "that there is no such IngressClass",
			Break: func(unique string) { Patch(webAppNamed(unique), `{"spec":{"ingress":{"className":"`+class+`"}}}`) },
			Mend: func(string) {
				discardLater(Create(&networkingv1.IngressClass{ObjectMeta: metav1.ObjectMeta{Name: class}, Spec: networkingv1.IngressClassSpec{Controller: "acme.com/test"}}))
			},
			Reason: "IngressClassMissing", Status: status.FailedStatus,
		},
		serviceForbidden(service),
	}
}
