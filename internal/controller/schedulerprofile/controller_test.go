// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedulerprofile

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

func raw(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

var _ = Describe("A SchedulerProfile", func() {
	It("runs a scheduler, and is ready when that serves", func() {
		c := startController()
		p := profile("gpu", serving("gpu", "gpu-2"))
		Eventually(Ready(p)).Should(Equal("False RollingOut"), func() string { return fmt.Sprint(p.Status.Conditions) })
		Expect(Message(p, Serving)).To(Equal("pods are starting; meanwhile no pod serves the profiles"))
		pods := c.rollOut(p)
		AwaitReady(p)
		Expect(p.Status.ActivePod).To(Equal(pods[0].Name))
		Expect(p.Status.ServingHash).To(Equal(p.Status.WantedHash))
		Expect(p.Status.Image).To(Equal(image))
		Expect(p.Status.ClusterVersion).To(Equal("1.36"))
		Expect(p.Status.Profiles).To(ConsistOf(
			v1alpha1.ProfileStatus{SchedulerName: "gpu", Nodes: 1}, v1alpha1.ProfileStatus{SchedulerName: "gpu-2", Nodes: 1}))
		Expect(configs(p)).To(Equal([]string{configName(p, p.Status.WantedHash)}))

		By("writing nothing when it looks again")
		Eventually(func(g Gomega) {
			c.wire.Forget()
			Poke(p)
			g.Consistently(c.wire.Writes).Should(BeEmpty())
		}).Should(Succeed())

		By("noticing that the active pod does not renew the Lease")
		c.clock.SetTime(c.clock.Now().Add(time.Minute))
		Poke(p)
		Eventually(Ready(p)).Should(Equal("False NotServing"))

		By("believing a Lease that is renewed by a slow clock")
		c.slow = time.Hour
		c.holds(p, pods[1])
		Poke(p)
		AwaitReady(p)
		Expect(p.Status.ActivePod).To(Equal(pods[1].Name))

		By("leaving nothing behind")
		Remove(p)
		for _, o := range []client.Object{&appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &corev1.Service{}} {
			o.SetNamespace(namespace)
			o.SetName(childName(p))
			Eventually(Gone(o)).Should(Succeed())
		}
		Eventually(configs).WithArguments(p).Should(BeEmpty())
	})

	It("never replaces a scheduler that runs by one that does not start", func() {
		c := startController()
		p := profile("canary", serving("canary"))
		old := c.rollOut(p)
		AwaitReady(p)
		former := p.Status.ServingHash
		Change(p, func(p *v1alpha1.SchedulerProfile) {
			p.Spec.Profiles[0].Raw = raw(`{"plugins":{"score":{"enabled":[{"name":"NodeName"}]}}}`)
		})
		d := current(p)
		refused := podFor(d, container(corev1.ContainerStatus{
			State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Message: refusal}},
		}))
		Eventually(Ready(p)).Should(Equal("False ConfigRefused"))
		Expect(Message(p, Serving)).To(ContainSubstring("strict decoding error"))
		Expect(Message(p, Serving)).To(HaveSuffix("meanwhile former pods continue to serve"))
		Expect(p.Status.ServingHash).To(Equal(former))
		Expect(p.Status.ActivePod).To(Equal(old[0].Name))
		Expect(configs(p)).To(ConsistOf(configName(p, former), configName(p, p.Status.WantedHash)))

		By("keeping the configuration of pods that run although nobody remembers that it has served")
		p.Status.ServingHash = ""
		Expect(Admin.Status().Update(ctx, p)).To(Succeed())
		Poke(p)
		Consistently(configs).WithArguments(p).Should(HaveLen(2))

		By("returning to the former one")
		Change(p, func(p *v1alpha1.SchedulerProfile) { p.Spec.Profiles[0].Raw = nil })
		Expect(current(p).Spec.Template.Labels[LabelConfig]).To(Equal(former))
		Remove(refused)
		Eventually(Gone(refused)).Should(Succeed())
		Poke(p)
		AwaitReady(p)
		Eventually(configs).WithArguments(p).Should(Equal([]string{configName(p, former)}))
	})

	It("is not ready before all pods have another image, or other arguments", func() {
		c := startController()
		p := profile("image", serving("image"))
		old := c.rollOut(p)
		AwaitReady(p)
		former := p.Status.ServingHash
		for _, change := range []func(*v1alpha1.SchedulerProfile){
			func(p *v1alpha1.SchedulerProfile) { p.Spec.Image = "own:v2" },
			func(p *v1alpha1.SchedulerProfile) { p.Spec.RetryAfter = &metav1.Duration{Duration: time.Minute} },
		} {
			Change(p, change)
			Expect(current(p).Spec.Template.Labels[LabelConfig]).To(Equal(former))
			Eventually(Ready(p)).Should(Equal("False RollingOut"))
			Expect(Message(p, Serving)).To(Equal("pods are starting; meanwhile former pods continue to serve"))
			Expect(p.Status.ActivePod).To(Equal(old[0].Name))
			Expect(p.Status.ServingHash).To(Equal(former))
			old = c.rollOut(p)
			Eventually(Ready(p)).Should(Equal("True OwnImage"))
		}
	})

	It("serves while the pods of the former configuration end", func() {
		c := startController()
		p := profile("hand-over", serving("hand-over"))
		old := c.rollOut(p)
		AwaitReady(p)
		Change(p, func(p *v1alpha1.SchedulerProfile) { p.Spec.Profiles[0].Preemption = v1alpha1.Disabled })
		d := current(p)
		podFor(d, isReady)
		next := podFor(d, isReady)
		for _, each := range old {
			Patch(each, `{"metadata":{"finalizers":["test.example.com/ends"]}}`)
			Remove(each)
		}
		Poke(p)
		Eventually(Ready(p)).Should(Equal("False RollingOut"))
		Consistently(Ready(p), "1s").Should(Equal("False RollingOut")) // one that ends holds the Lease
		Expect(configs(p)).To(HaveLen(2))
		c.holds(p, next)
		Poke(p)
		AwaitReady(p)
		Poke(p)
		Consistently(configs, "1s").WithArguments(p).Should(HaveLen(2)) // one that comes instead of a pod that ends would need it
		for _, each := range old {
			Patch(each, `{"metadata":{"finalizers":null}}`)
		}
		Eventually(func(g Gomega) {
			Poke(p)
			g.Expect(configs(p)).To(Equal([]string{configName(p, p.Status.WantedHash)}))
		}).Should(Succeed())
	})

	It("names the command that grants the rights of a scheduler", func() {
		missing := bindingOf("scheduler-volumes")
		Expect(Reload(missing)).To(Succeed())
		Remove(missing)
		again := bindingOf("scheduler-volumes")
		again.RoleRef, again.Subjects = missing.RoleRef, missing.Subjects
		startController()
		p := profile("rights", serving("rights"))
		// Until the API server has noticed, it allows everything.
		Eventually(func(g Gomega) {
			g.Expect(Reload(p)).To(Succeed())
			g.Expect(Condition(p, Granted)()).To(HaveSuffix("RightsMissing"))
		}).Should(Succeed())
		Expect(Message(p, Granted)).To(HaveSuffix("may not update persistentvolumes, so that no scheduler can run; " +
			"let an administrator run: kubectl apply -k config/scheduling"))
		Expect(configs(p)).To(BeEmpty())
		Create(again)
		Eventually(func() string { Poke(p); return Condition(p, Granted)() }).Should(Equal("True Done"))
	})

	It("uses only accounts that an administrator has allowed", func() {
		startController()
		a := Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"}})
		p := profile("account", serving("account"), func(s *v1alpha1.SchedulerProfileSpec) { s.ServiceAccountName = "own" })
		Eventually(Ready(p)).Should(Equal("False AccountNotAllowed"))
		Patch(a, `{"metadata":{"labels":{"scheduling.acme.com/allowed":"true"}}}`)
		Poke(p)
		Eventually(Ready(p)).Should(Equal("False RightsMissing"))
		Expect(Message(p, Granted)).To(HaveSuffix("let an administrator bind the ClusterRoles system:kube-scheduler and system:volume-scheduler " +
			"to it, and in its namespace the Role platform-operator-scheduler"))
		Change(p, func(p *v1alpha1.SchedulerProfile) { p.Spec.ServiceAccountName = "" })
		Eventually(Ready(p)).Should(Equal("False RollingOut"))
	})

	It("lets the older one of two objects have a name", func() {
		startController()
		first := profile("b-first", serving("shared", "more"))
		Eventually(Ready(first)).Should(Equal("False RollingOut"))
		Eventually(func() bool { return time.Now().Unix() > first.CreationTimestamp.Unix() }).Should(BeTrue())
		second := profile("a-second", serving("other", "shared"))
		Eventually(Ready(second)).Should(Equal("False NameTaken"))
		Expect(Message(second, Accepted)).To(HavePrefix("shared is a profile of the SchedulerProfile b-first, which is older"))
		Expect(configs(second)).To(BeEmpty())
		Change(first, func(p *v1alpha1.SchedulerProfile) { p.Spec.Profiles = p.Spec.Profiles[1:] })
		Eventually(Ready(second)).Should(Equal("False RollingOut"))
	})

	It("removes the scheduler of an object that loses a name to an older one", func() {
		c := startController()
		older := profile("older", serving("its-own"))
		Eventually(Ready(older)).Should(Equal("False RollingOut"))
		Eventually(func() bool { return time.Now().Unix() > older.CreationTimestamp.Unix() }).Should(BeTrue())
		younger := profile("younger", serving("contested"))
		c.rollOut(younger)
		AwaitReady(younger)
		claim := func(names ...string) {
			Change(older, func(p *v1alpha1.SchedulerProfile) { serving(names...)(&p.Spec) })
		}
		claim("its-own", "contested")
		Eventually(Ready(younger)).Should(Equal("False NameTaken"))
		for _, o := range []client.Object{&appsv1.Deployment{}, &policyv1.PodDisruptionBudget{}, &corev1.Service{}} {
			o.SetNamespace(namespace)
			o.SetName(childName(younger))
			Eventually(Gone(o)).Should(Succeed())
		}
		Eventually(configs).WithArguments(younger).Should(BeEmpty())
		Expect(younger.Status.Image + younger.Status.WantedHash + younger.Status.ServingHash + younger.Status.ActivePod).To(BeEmpty())
		Expect(younger.Status.Profiles).To(BeEmpty())
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: childName(younger)}}
		c.clock.SetTime(c.clock.Now().Add(recheck))
		Eventually(Gone(lease)).Should(Succeed())

		By("creating it again when the older one lets the name go")
		claim("its-own")
		c.rollOut(younger)
		AwaitReady(younger)
	})

	It("counts a node as soon as it gets the label", func() {
		c := startController()
		p := profile("labels", serving("labels"), func(s *v1alpha1.SchedulerProfileSpec) { s.Profiles[0].Nodes.LabelKeys[0] = "late" })
		c.rollOut(p)
		Eventually(Ready(p)).Should(Equal("True NoNodes"))
		n := Create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "late"}})
		Eventually(func(g Gomega) { // a look that is due anyway would see the label
			c.wire.Forget()
			g.Consistently(c.wire.Reads, soon+time.Second).Should(BeEmpty())
		}).Should(Succeed())
		Patch(n, `{"metadata":{"labels":{"late":""}}}`)
		Eventually(Ready(p), recheck/4).Should(Equal("True Ready"))
		Expect(p.Status.Profiles).To(HaveExactElements(HaveField("Nodes", BeEquivalentTo(1))))
		Remove(n)
		Eventually(Ready(p), recheck/4).Should(Equal("True NoNodes"))
	})

	DescribeTable("rejects what kube-scheduler would ignore or must not have", func(text, message string) {
		startController()
		p := profile("raw", serving("raw"), func(s *v1alpha1.SchedulerProfileSpec) { s.Profiles[0].Raw = raw(text) })
		Eventually(Ready(p)).Should(Equal("False RawInvalid"))
		Expect(Message(p, Accepted)).To(ContainSubstring(message))
		Expect(configs(p)).To(BeEmpty())
	},
		Entry("the Lease", `{"leaderElection":{"resourceName":"kube-scheduler"}}`, "leaderElection is no field that may be set here"),
		Entry("a misspelt plugin", `{"pluginConfig":[{"name":"NodeAffinty","args":{}}]}`, `kube-scheduler 1.36 has no plugin "NodeAffinty"`),
		Entry("another field", `{"schedulerName":"default-scheduler"}`, "schedulerName is no field that may be set here"),
	)

	It("rolls once when the API server has another version", func() {
		c := startController()
		p := profile("version", serving("version"))
		c.rollOut(p)
		AwaitReady(p)
		d := current(p)
		before := d.Generation
		c.minor.Store(37) // the same image fits
		c.clock.SetTime(c.clock.Now().Add(versionKept))
		Poke(p)
		Eventually(func() string { _ = Reload(p); return p.Status.ClusterVersion }).Should(Equal("1.37"))
		By("rolling back at once when one API server is older, and once only while others are not")
		c.minor.Store(35)
		c.clock.SetTime(c.clock.Now().Add(versionAsked))
		Poke(p)
		Eventually(func() string { _ = Reload(p); return p.Status.Image }).Should(Equal("scheduler:v1.34"))
		Eventually(func() int64 { _ = Reload(d); return d.Generation }).Should(Equal(before + 1))
		c.minor.Store(37)
		c.clock.SetTime(c.clock.Now().Add(versionAsked))
		Poke(p)
		Consistently(func() int64 { _ = Reload(d); return d.Generation }).Should(Equal(before + 1))
		By("rolling once when the API server is upgraded by one minor version")
		c.minor.Store(36)
		c.clock.SetTime(c.clock.Now().Add(versionKept))
		Poke(p)
		Eventually(func() string { _ = Reload(p); return p.Status.ClusterVersion + " " + p.Status.Image }).Should(Equal("1.36 " + image))
		Eventually(func() int64 { _ = Reload(d); return d.Generation }).Should(Equal(before + 2))
		Poke(p)
		Consistently(func() int64 { _ = Reload(d); return d.Generation }).Should(Equal(before + 2))
		c.rollOut(p)
		AwaitReady(p)

		By("leaving alone what runs when no image fits")
		c.minor.Store(38)
		c.clock.SetTime(c.clock.Now().Add(versionKept))
		Poke(p)
		Eventually(Ready(p)).Should(Equal("False NoImage"))
		Expect(Message(p, Supported)).To(ContainSubstring("no image of kube-scheduler for Kubernetes 1.38: it has 1.34, 1.36"))
		Expect(Reload(d)).To(Succeed())
		Expect(d.Generation).To(Equal(before + 2))
	})

	It("reports an image that cannot be had, and pods that the API server rejects", func() {
		startController()
		p := profile("late", serving("late"))
		d := current(p)
		waiting := podFor(d, container(corev1.ContainerStatus{State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff", Message: "not found"},
		}}))
		Eventually(Ready(p)).Should(Equal("False ImageRefused"))
		Expect(Message(p, Serving)).To(ContainSubstring("(ImagePullBackOff): not found"))
		Remove(waiting)
		d.Status.Conditions = []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: "exceeded quota: none",
		}}
		Expect(Admin.Status().Update(ctx, d)).To(Succeed())
		Eventually(Ready(p)).Should(Equal("False PodsRejected"))
		Expect(Message(p, Serving)).To(ContainSubstring("exceeded quota: none"))
	})

	It("says that no node fits, or that the image is the user's own", func() {
		c := startController()
		p := profile("nowhere", serving("nowhere"), func(s *v1alpha1.SchedulerProfileSpec) {
			s.Image, s.Profiles[0].Nodes.LabelKeys[0] = "own:v1", "missing"
		})
		c.rollOut(p)
		Eventually(Ready(p)).Should(Equal("True NoNodes"))
		Expect(Message(p, Serving)).To(HaveSuffix("so that their pods wait: nowhere"))
		Change(p, func(p *v1alpha1.SchedulerProfile) {
			p.Spec.Profiles[0].Nodes = &v1alpha1.Nodes{Expressions: []v1alpha1.NodeExpression{{Key: "selectable", Operator: corev1.NodeSelectorOpNotIn, Values: []v1alpha1.LabelValue{"no"}}}}
		})
		c.rollOut(p)
		Eventually(Ready(p)).Should(Equal("True OwnImage"))
		Expect(Message(p, Supported)).To(ContainSubstring("that its version fits Kubernetes 1.36 is not checked"))
	})

	It("runs a program, and forgets the configuration that it replaces", func() {
		c := startController()
		p := profile("program", serving("program"))
		c.rollOut(p)
		AwaitReady(p)
		Change(p, func(p *v1alpha1.SchedulerProfile) {
			p.Spec.Profiles[0].Nodes = nil
			p.Spec.Program = &v1alpha1.Program{Image: "registry.acme.com/mine:v1"}
		})
		c.rollOut(p)
		AwaitReady(p)
		Poke(p)
		Eventually(configs).WithArguments(p).Should(BeEmpty())
		Expect(p.Status.ServingHash + p.Status.WantedHash).To(BeEmpty())
		Expect(p.Status.Image).To(Equal("registry.acme.com/mine:v1"))
	})

	It("repairs what others change", func() {
		startController()
		p := profile("drift", serving("drift"))
		d := current(p)
		Patch(d, `{"spec":{"replicas":0,"strategy":{"rollingUpdate":{"maxUnavailable":1}}}}`)
		Eventually(func() int32 { _ = Reload(d); return *d.Spec.Replicas }).Should(BeEquivalentTo(2))
		Expect(d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue()).To(Equal(0))
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: configs(p)[0]}}
		Expect(Reload(cm)).To(Succeed())
		uid := cm.UID
		Remove(cm)
		Eventually(func() bool { return Reload(cm) == nil && cm.UID != uid }).Should(BeTrue())
		Expect(cm.Data[configFile]).To(ContainSubstring("drift"))
		Create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "others-0123456789"}})
		Poke(p)
		Consistently(func() error {
			return Reload(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "others-0123456789"}})
		}).Should(Succeed())
	})

	It("works under a name of 253 characters", func() {
		c := startController()
		p := profile(strings.Repeat("sched.", 42)+"x", serving("long"))
		c.rollOut(p)
		AwaitReady(p)
	})
})
