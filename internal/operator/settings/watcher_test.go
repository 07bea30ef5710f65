// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// withReconciles is a valid configuration that differs from others by one number.
func withReconciles(n int) string {
	return fmt.Sprintf("%sacmeNamespace: {maxConcurrentReconciles: %d}\n", header, n)
}

// replica is a manager that is not the leader and runs a watcher.
type replica struct {
	namespace string
	metrics   *Metrics
	restarts  chan *Source
}

func startReplica(ctx context.Context, namespace string) *replica {
	GinkgoHelper()
	return startReplicaAfter(ctx, namespace, func() {})
}

// startReplicaAfter lets something happen between loading the configuration and watching it.
func startReplicaAfter(ctx context.Context, namespace string, happens func()) *replica {
	GinkgoHelper()
	reader, err := client.New(operatorREST, client.Options{})
	Expect(err).NotTo(HaveOccurred())
	running, err := Load(ctx, reader, "", namespace)
	Expect(err).NotTo(HaveOccurred())

	happens()

	r := &replica{namespace: namespace, restarts: make(chan *Source, 10)}
	r.metrics, err = NewMetrics(prometheus.NewRegistry())
	Expect(err).NotTo(HaveOccurred())
	mgr := newFollower(ctx, namespace)
	watcher, err := NewWatcher(Options{
		Running: running, Namespace: namespace, REST: mgr.GetConfig(), Metrics: r.metrics,
		Recorder: mgr.GetEventRecorder("platform-operator"),
		Restart:  func(next *Source) { r.restarts <- next },
	})
	Expect(err).NotTo(HaveOccurred())
	Expect(mgr.Add(watcher)).To(Succeed())

	managing, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(managing) }()
	DeferCleanup(func() {
		stop()
		Eventually(ended).Should(Receive(BeNil()), "the manager should stop when told")
	})
	return r
}

// newFollower returns a manager whose lease is held by another one, so that it does not become the leader.
func newFollower(ctx context.Context, namespace string) ctrl.Manager {
	const lease = "operator"
	holder, seconds, now := "somebody-else", int32(3600), metav1.NowMicro()
	Expect(admin.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: lease},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: &holder, LeaseDurationSeconds: &seconds, AcquireTime: &now, RenewTime: &now,
		},
	})).To(Succeed())
	mgr, err := ctrl.NewManager(operatorREST, ctrl.Options{
		Metrics:                 metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress:  "0",
		LeaderElection:          true,
		LeaderElectionConfig:    adminREST,
		LeaderElectionID:        lease,
		LeaderElectionNamespace: namespace,
	})
	Expect(err).NotTo(HaveOccurred())
	return mgr
}

func (r *replica) valid() float64 { return testutil.ToFloat64(r.metrics.valid) }

func (r *replica) reloads(result string) float64 {
	return testutil.ToFloat64(r.metrics.reloads.WithLabelValues(result))
}

func (r *replica) events(ctx context.Context) []eventsv1.Event {
	list := &eventsv1.EventList{}
	Expect(admin.List(ctx, list, client.InNamespace(r.namespace))).To(Succeed())
	return list.Items
}

func (r *replica) expectRestart(origin string, reconciles int32) {
	GinkgoHelper()
	var next *Source
	Eventually(r.restarts).Should(Receive(&next))
	Expect(next.Origin).To(Equal(origin))
	Expect(*next.Config.AcmeNamespace.MaxConcurrentReconciles).To(Equal(reconciles))
	Expect(r.valid()).To(Equal(1.0))
	Expect(r.reloads(resultApplied)).To(Equal(1.0))
	Consistently(r.restarts).ShouldNot(Receive(), "restarted more than once")
}

var _ = Describe("The watcher of the ConfigMap", func() {
	var namespace, origin string

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		origin = "ConfigMap " + namespace + "/platform-operator-config"
	})

	create := func(ctx context.Context, text string) *corev1.ConfigMap {
		GinkgoHelper()
		configMap := newConfigMap(namespace, text)
		Expect(admin.Create(ctx, configMap)).To(Succeed())
		return configMap
	}
	update := func(ctx context.Context, configMap *corev1.ConfigMap, text string) {
		GinkgoHelper()
		configMap.Data[ConfigMapKey] = text
		Expect(admin.Update(ctx, configMap)).To(Succeed())
	}

	It("restarts once for a valid change", func(ctx SpecContext) {
		configMap := create(ctx, withReconciles(11))
		replica := startReplica(ctx, namespace)
		Consistently(replica.restarts).ShouldNot(Receive(), "restarted without a change")

		update(ctx, configMap, withReconciles(12))
		replica.expectRestart(origin, 12)
		Expect(replica.events(ctx)).To(BeEmpty())
	})

	It("restarts when a ConfigMap is created", func(ctx SpecContext) {
		replica := startReplica(ctx, namespace)
		create(ctx, withReconciles(11))
		replica.expectRestart(origin, 11)
	})

	It("restarts to the defaults when the ConfigMap is deleted", func(ctx SpecContext) {
		configMap := create(ctx, withReconciles(11))
		replica := startReplica(ctx, namespace)
		Expect(admin.Delete(ctx, configMap)).To(Succeed())
		replica.expectRestart("defaults", 10)
	})

	It("restarts for a change before it watched", func(ctx SpecContext) {
		configMap := create(ctx, withReconciles(11))
		replica := startReplicaAfter(ctx, namespace, func() {
			Expect(admin.Delete(ctx, configMap)).To(Succeed())
		})
		replica.expectRestart("defaults", 10)
	})

	It("does nothing for texts of the same meaning", func(ctx SpecContext) {
		configMap := create(ctx, withReconciles(10))
		replica := startReplica(ctx, namespace)
		for _, text := range []string{header + "# the default\n", "", withReconciles(10)} {
			update(ctx, configMap, text)
			Consistently(replica.restarts).ShouldNot(Receive())
		}
		Expect(admin.Delete(ctx, configMap)).To(Succeed())
		Consistently(replica.restarts).ShouldNot(Receive())
		Expect(replica.reloads(resultApplied)).To(BeZero())

		create(ctx, withReconciles(11)) // it was not deaf all the time
		replica.expectRestart(origin, 11)
	})

	It("reports an invalid change once and keeps running", func(ctx SpecContext) {
		configMap := create(ctx, withReconciles(11))
		replica := startReplica(ctx, namespace)

		By("breaking it")
		update(ctx, configMap, header+"acmeNamespace: {identity: {tpye: LDAP}}")
		Eventually(replica.events).WithContext(ctx).Should(HaveLen(1))
		Expect(replica.valid()).To(BeZero())
		event := replica.events(ctx)[0]
		Expect(event.Type).To(Equal(corev1.EventTypeWarning))
		Expect(event.Reason).To(Equal("ConfigInvalid"))
		Expect(event.Regarding.Kind).To(Equal("ConfigMap"))
		Expect(event.Regarding.Name).To(Equal("platform-operator-config"))
		Expect(event.Regarding.UID).To(Equal(configMap.UID))
		Expect(event.Note).To(Equal("The previous configuration remains in effect: reading the configuration from " +
			origin + `: unknown field "acmeNamespace.identity.tpye"`))

		By("changing only its labels")
		configMap.Labels = map[string]string{"looked": "at"}
		Expect(admin.Update(ctx, configMap)).To(Succeed())
		Consistently(replica.events).WithContext(ctx).Should(HaveLen(1))
		Expect(replica.reloads(resultRejected)).To(Equal(1.0))

		By("breaking it in another way, with a longer error than an Event can contain")
		update(ctx, configMap, header+strings.Repeat("é", 2000)+": 1")
		Eventually(replica.events).WithContext(ctx).Should(HaveLen(2))
		Expect(replica.reloads(resultRejected)).To(Equal(2.0))
		Expect(replica.restarts).NotTo(Receive())

		By("restoring it")
		update(ctx, configMap, withReconciles(11))
		Eventually(replica.valid).Should(Equal(1.0))
		Consistently(replica.restarts).ShouldNot(Receive())

		By("changing it validly")
		update(ctx, configMap, withReconciles(12))
		replica.expectRestart(origin, 12)
	})

	It("reports a ConfigMap without the key", func(ctx SpecContext) {
		replica := startReplica(ctx, namespace)
		configMap := newConfigMap(namespace, "")
		configMap.Data = map[string]string{"config.yml": withReconciles(11)}
		Expect(admin.Create(ctx, configMap)).To(Succeed())
		Eventually(replica.events).WithContext(ctx).Should(HaveLen(1))
		Expect(replica.events(ctx)[0].Note).To(ContainSubstring("it has no key config.yaml"))
		Expect(replica.restarts).NotTo(Receive())
	})

	It("ignores other ConfigMaps", func(ctx SpecContext) {
		replica := startReplica(ctx, namespace)
		other := newConfigMap(namespace, withReconciles(11))
		other.Name = "other"
		Expect(admin.Create(ctx, other)).To(Succeed())
		Consistently(replica.restarts).ShouldNot(Receive())
	})
})

var _ = Describe("Load", func() {
	var (
		namespace string
		reader    client.Reader
	)

	BeforeEach(func(ctx SpecContext) {
		namespace = newNamespace(ctx)
		var err error
		reader, err = client.New(operatorREST, client.Options{})
		Expect(err).NotTo(HaveOccurred())
	})

	It("uses the defaults when there is no ConfigMap", func(ctx SpecContext) {
		source, err := Load(ctx, reader, "", namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(source.Origin).To(Equal("defaults"))
	})

	It("reads the ConfigMap", func(ctx SpecContext) {
		Expect(admin.Create(ctx, newConfigMap(namespace, withReconciles(11)))).To(Succeed())
		source, err := Load(ctx, reader, "", namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(source.Origin).To(Equal("ConfigMap " + namespace + "/platform-operator-config"))
		Expect(*source.Config.AcmeNamespace.MaxConcurrentReconciles).To(Equal(int32(11)))
	})

	It("fails for an invalid ConfigMap, with the path of the field", func(ctx SpecContext) {
		Expect(admin.Create(ctx, newConfigMap(namespace, withReconciles(101)))).To(Succeed())
		_, err := Load(ctx, reader, "", namespace)
		Expect(err).To(MatchError("reading the configuration from ConfigMap " + namespace + "/platform-operator-config: " +
			"acmeNamespace.maxConcurrentReconciles: Invalid value: 101: must be between 1 and 100"))
	})

	It("fails when it may not read the ConfigMap", func(ctx SpecContext) {
		_, err := Load(ctx, reader, "", "default")
		Expect(err).To(MatchError(ContainSubstring("reading the configuration from ConfigMap default/platform-operator-config: ")))
		Expect(err).To(MatchError(ContainSubstring("forbidden")))
	})
})
