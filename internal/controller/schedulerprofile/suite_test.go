// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	"github.com/acme/platform-operator/internal/scheduling"
	"github.com/acme/platform-operator/internal/testenv"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

// definition is the CustomResourceDefinition.
var definition = testenv.RepoFile("config", "crd", "bases", "scheduling.acme.com_schedulerprofiles.yaml")

var ctx = context.Background()

func testScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(s))
	utilruntime.Must(v1alpha1.AddToScheme(s))
	return s
}

func TestController(t *testing.T) {
	s := Setup{Options: testenv.Options{CRDs: []string{definition}, WithControllers: true}, Scheme: testScheme()}
	s.Prepare = func() {
		Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
		Expect(testenv.InstallScheduling(Plane)).To(Succeed())
		Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "selectable", Labels: map[string]string{"selectable": ""}}})
	}
	s.Run(t, "SchedulerProfile")
}

// controller is the kind, which runs with a clock and a version of the API server of the spec's own.
type controller struct {
	clock *clocktesting.FakePassiveClock
	minor atomic.Int32
	wire  testenv.Wire
	stop  func()
	// slow is by how much the clocks of nodes are behind.
	slow time.Duration
}

var images = scheduling.Images{34: "scheduler:v1.34", 36: image}

// startController runs the kind until the spec ends.
func startController() *controller {
	GinkgoHelper()
	c := &controller{clock: clocktesting.NewFakePassiveClock(time.Now())}
	c.minor.Store(36)
	c.start()
	DeferCleanup(func() { c.stop() })
	return c
}

func (c *controller) start() {
	GinkgoHelper()
	access := rest.CopyConfig(Plane.Config)
	access.Wrap(c.wire.Wrap)
	yes := true
	mgr, err := ctrl.NewManager(access, ctrl.Options{
		Scheme: testScheme(), Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: &yes},
		Client: client.Options{Cache: &client.CacheOptions{EnableReadYourWritesConsistency: &yes}},
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(Register(mgr, Options{
		Namespace: namespace, Images: images, MaxConcurrentReconciles: 2, RetryMax: time.Second, Clock: c.clock,
		Version: func(context.Context) (string, string, error) { return "1", strconv.Itoa(int(c.minor.Load())), nil },
	})).To(Succeed())
	running, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(running) }()
	Expect(mgr.GetCache().WaitForCacheSync(running)).To(BeTrue())
	c.stop = func() {
		cancel()
		Eventually(ended).Should(Receive(BeNil()))
		c.stop = func() {}
	}
}

// profile creates an object, which is removed when the spec ends.
func profile(name string, with ...func(*v1alpha1.SchedulerProfileSpec)) *v1alpha1.SchedulerProfile {
	GinkgoHelper()
	p := Create(named(name, with...))
	DeferCleanup(func() {
		Expect(client.IgnoreNotFound(Admin.Delete(ctx, p.DeepCopy()))).To(Succeed())
		Expect(Admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.GracePeriodSeconds(0))).To(Succeed())
		Eventually(Gone(deploymentOf(p))).Should(Succeed())
	})
	return p
}

// serving names the profile of an object.
func serving(names ...string) func(*v1alpha1.SchedulerProfileSpec) {
	return func(s *v1alpha1.SchedulerProfileSpec) {
		s.Profiles = nil
		for _, n := range names {
			s.Profiles = append(s.Profiles, v1alpha1.Profile{SchedulerName: n, Nodes: &v1alpha1.Nodes{LabelKeys: []v1alpha1.LabelKey{"selectable"}}})
		}
	}
}

func deploymentOf(p *v1alpha1.SchedulerProfile) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: childName(p)}}
}

// current is the Deployment of an object, once it has the wanted configuration.
func current(p *v1alpha1.SchedulerProfile) *appsv1.Deployment {
	GinkgoHelper()
	d := deploymentOf(p)
	Eventually(func(g Gomega) {
		g.Expect(Reload(p)).To(Succeed())
		g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
		g.Expect(Reload(d)).To(Succeed())
		g.Expect(d.Spec.Template.Labels[LabelConfig]).To(Equal(p.Status.WantedHash))
	}).Should(Succeed())
	return d
}

var podNumber int

// podFor creates a pod as the Deployment has them now, with a status as its kubelet would write it.
func podFor(d *appsv1.Deployment, status func(*corev1.PodStatus)) *corev1.Pod {
	GinkgoHelper()
	podNumber++
	p := Create(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("%s-%d", d.Name, podNumber), Labels: d.Spec.Template.Labels},
		Spec:       *d.Spec.Template.Spec.DeepCopy(),
	})
	status(&p.Status)
	Expect(Admin.Status().Update(ctx, p)).To(Succeed())
	return p
}

func isReady(s *corev1.PodStatus) {
	s.Phase = corev1.PodRunning
	s.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
}

func container(state corev1.ContainerStatus) func(*corev1.PodStatus) {
	return func(s *corev1.PodStatus) {
		state.Name = containerName
		s.Phase, s.ContainerStatuses = corev1.PodPending, []corev1.ContainerStatus{state}
	}
}

// holds makes a pod the holder of the Lease.
func (c *controller) holds(p *v1alpha1.SchedulerProfile, holder *corev1.Pod) {
	GinkgoHelper()
	l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: childName(p)}}
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: new(holder.Name + "_1"), LeaseDurationSeconds: new(int32(15)), RenewTime: &metav1.MicroTime{Time: c.clock.Now().Add(-c.slow)},
	}
	if Reload(l) == nil {
		Change(l, func(l *coordinationv1.Lease) { l.Spec = spec })
		return
	}
	l.Spec = spec
	Create(l)
	DeferCleanup(func() { Expect(client.IgnoreNotFound(Admin.Delete(ctx, l))).To(Succeed()) })
}

// rollOut replaces the pods of an object by ready ones of the wanted configuration, of which the first holds the Lease.
func (c *controller) rollOut(p *v1alpha1.SchedulerProfile) []*corev1.Pod {
	GinkgoHelper()
	d := current(p)
	Expect(Admin.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(namespace), client.MatchingLabels{LabelProfile: d.Name}, client.GracePeriodSeconds(0))).To(Succeed())
	var all []*corev1.Pod
	for range *d.Spec.Replicas {
		all = append(all, podFor(d, isReady))
	}
	c.holds(p, all[0])
	Poke(p)
	return all
}

// configs are the names of the ConfigMaps of an object.
func configs(p *v1alpha1.SchedulerProfile) (all []string) {
	GinkgoHelper()
	list := &corev1.ConfigMapList{}
	Expect(Admin.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	for i := range list.Items {
		if name := list.Items[i].Name; isConfigName(p, name) {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

func bindingOf(name string) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "platform-operator-" + name}}
}

// team makes a namespace with a label.
func team(value string) string {
	GinkgoHelper()
	ns := Create(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-", Labels: map[string]string{"team": value}}})
	// No pod can be created before there is one.
	Eventually(func() error {
		return Reload(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "default"}})
	}).Should(Succeed())
	return ns.Name
}
