// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autorebootv1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	common "github.com/acme/platform-operator/api/common/v1alpha1"
	workloadsv1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	ledgerName   = "ledger"    // a WebApp that keeps numbers in a database
	databaseName = "ledger-db" // the PostgreSQL, and its Secret
)

// specsOfDatabase: a tenant runs a PostgreSQL and a WebApp that uses it, changes the password, and upgrades the server.
func specsOfDatabase() {
	app := site{name: ledgerName}
	var kubeconfig string
	var images, versions []string // of PostgreSQL: before and after the upgrade
	records := &recorder{}
	execute := func(ctx context.Context, password, statement string) (string, error) {
		return lab.kubectl(ctx, kubeconfig, "exec", "deployment/"+ledgerName, "--", "/ledger", "execute", databaseURL(password), statement)
	}

	It("waits for its database, is migrated, and writes and reads", func(ctx SpecContext) {
		kubeconfig, app.Client = lab.login(teamAdmin, teamNamespace)
		image := lab.pushLedger(ctx)
		images, versions = lab.pushPostgres(ctx)
		Expect(app.Create(ctx, &workloadsv1alpha1.WebApp{
			ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: ledgerName},
			Spec: workloadsv1alpha1.WebAppSpec{
				WebAppImage: image, WebAppHostname: "ledger.acme.com", DeploymentTier: common.TierDev, Args: []string{"serve"},
				DatabaseSecretRef: &workloadsv1alpha1.DatabaseSecretReference{Name: databaseName},
				Migration:         &workloadsv1alpha1.Migration{Args: []string{"migrate"}},
				Probes:            everySecond("/healthz"),
				Ingress:           &workloadsv1alpha1.Ingress{WaitForAddress: ptr.To(false)},
			},
		})).To(Succeed())
		app.awaitTrouble(ctx, "WaitingForDatabase", ContainSubstring(databaseName))
		for _, o := range postgres(images[0]) {
			Expect(app.Create(ctx, o)).To(Succeed())
		}
		app.awaitServing(ctx, image)
		records.start(ctx, app)
		records.awaitMore(ctx)
		records.expectNoneLost(ctx)
		say("with PostgreSQL %s: %d numbers are read back", versions[0], len(records.accepted))
	}, NodeTimeout(3*soon))

	It("loses no write while the password changes, and starts its pods again once", func(ctx SpecContext) {
		before := app.pods(ctx, Default)
		records.start(ctx, app)
		records.awaitMore(ctx)
		out, err := execute(ctx, "first", "ALTER ROLE app PASSWORD 'second'")
		Expect(err).NotTo(HaveOccurred(), out)
		Expect(app.Update(ctx, databaseSecret("second"))).To(Succeed())
		start := time.Now()
		eventually(ctx, "the pods are started again", soon, func(g Gomega) { g.Expect(app.restarts(ctx, g)).To(BeEquivalentTo(1)) })
		lab.awaitRollout(ctx, teamNamespace, ledgerName)
		app.awaitServing(ctx, app.get(ctx, Default).Spec.WebAppImage)
		for pod := range app.pods(ctx, Default) {
			Expect(before).NotTo(HaveKey(pod))
		}
		records.awaitMore(ctx)
		say("all pods are new %s after the Secret had the new password", since(start))
		out, err = execute(ctx, "first", "SELECT 1")
		Expect(err).To(HaveOccurred(), "the old password opens the database still")
		Expect(out).To(ContainSubstring("password authentication failed"))
		records.expectNoneLost(ctx)
		Expect(records.refused.lengths).To(BeEmpty(), "sessions that there are stay: %v", records.refused.errs)
	}, NodeTimeout(3*soon))

	It("writes and reads after its database has got another version", func(ctx SpecContext) {
		before := app.pods(ctx, Default)
		records.start(ctx, app)
		records.awaitMore(ctx)
		d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: databaseName}}
		patch := fmt.Sprintf(`{"spec":{"template":{"spec":{"containers":[{"name":"main","image":%q}]}}}}`, images[1])
		Expect(app.Patch(ctx, d, client.RawPatch(types.StrategicMergePatchType, []byte(patch)))).To(Succeed())
		lab.awaitRollout(ctx, teamNamespace, databaseName)
		records.awaitMore(ctx)
		records.expectNoneLost(ctx)
		say("from PostgreSQL %s to %s: no write for %s", versions[0], versions[1], records.refused.longest())
		Expect(app.pods(ctx, Default)).To(Equal(before), "the application's pods")
		Expect(app.restarts(ctx, Default)).To(BeEquivalentTo(1), "of the application's pods, in all")
		app.expectMigratedOnce(ctx)
		removeDatabase(ctx, app)
	}, NodeTimeout(3*soon))
}

// restarts is how often the pods were started again because of the Secret.
func (s site) restarts(ctx context.Context, g Gomega) int64 {
	w := &autorebootv1alpha1.ConfigWatcher{}
	g.Expect(s.Get(ctx, client.ObjectKey{Namespace: teamNamespace, Name: s.name + "-webapp"}, w)).To(Succeed())
	return w.Status.Restarts
}

// expectMigratedOnce expects one migration, and, beside that of the first pods, one ReplicaSet for each time that they were started again.
func (s site) expectMigratedOnce(ctx context.Context) {
	GinkgoHelper()
	jobs, sets := &batchv1.JobList{}, &appsv1.ReplicaSetList{}
	Expect(s.List(ctx, jobs, client.InNamespace(teamNamespace))).To(Succeed())
	ours := slices.DeleteFunc(jobs.Items, func(j batchv1.Job) bool { return !strings.HasPrefix(j.Name, s.name+"-migrate-") })
	Expect(ours).To(HaveLen(1))
	Expect(s.List(ctx, sets, client.InNamespace(teamNamespace), client.MatchingLabels{"workloads.apps.acme.com/webapp": s.name})).To(Succeed())
	Expect(sets.Items).To(HaveLen(2))
}

// databaseURL has a connection given up soon that was begun when the server went: another one reaches that which has come.
func databaseURL(password string) string {
	return fmt.Sprintf("postgres://app:%s@%s:5432/postgres?sslmode=disable&connect_timeout=1", password, databaseName)
}

func databaseSecret(password string) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: databaseName},
		StringData: map[string]string{
			"host": databaseName, "port": "5432", "username": "app", "password": password, "database": "postgres", "uri": databaseURL(password),
		},
	}
}

// postgres is a PostgreSQL with its Service, its data and its Secret.
func postgres(image string) []client.Object {
	of := metav1.ObjectMeta{Namespace: teamNamespace, Name: databaseName}
	pod := lab.pod(teamNamespace, databaseName)
	unhurt(pod)
	c := &pod.Spec.Containers[0]
	c.Image = image
	c.Env = []corev1.EnvVar{{Name: "PASSWORD", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: databaseName}, Key: "password",
	}}}}
	port := corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(5432)}}
	c.ReadinessProbe = &corev1.Probe{ProbeHandler: port, PeriodSeconds: 1}
	// With SIGTERM the server would wait for all clients to go.
	c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/sh", "-c", "kill -INT 1"}}}}
	c.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: databaseName},
	}}}
	return []client.Object{
		&corev1.PersistentVolumeClaim{ObjectMeta: of, Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		}},
		&corev1.Service{ObjectMeta: of, Spec: corev1.ServiceSpec{Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 5432}}}},
		&appsv1.Deployment{ObjectMeta: of, Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}, // one server has the data
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
		}},
		databaseSecret("first"),
	}
}

func removeDatabase(ctx context.Context, app site) {
	GinkgoHelper()
	Expect(app.Delete(ctx, &workloadsv1alpha1.WebApp{ObjectMeta: metav1.ObjectMeta{Namespace: teamNamespace, Name: ledgerName}})).To(Succeed())
	for _, o := range postgres("") {
		Expect(app.Delete(ctx, o)).To(Succeed())
	}
}

// pushLedger makes the image of the application.
func (w *world) pushLedger(ctx context.Context) string {
	GinkgoHelper()
	program := filepath.Join(w.dir, ledgerName)
	run(ctx, []string{"CGO_ENABLED=0"}, "go", "build", "-buildvcs=false", "-o", program, "./test/e2e/testdata/ledger")
	pushed, err := w.cluster.PushProgram(ctx, program, ledgerName+":v1")
	Expect(err).NotTo(HaveOccurred())
	return pushed.Tag
}

// pushPostgres makes two images of PostgreSQL, of two patch releases where Debian has two.
func (w *world) pushPostgres(ctx context.Context) (images, versions []string) {
	GinkgoHelper()
	dir := filepath.Join(w.dir, "postgres")
	Expect(os.Mkdir(dir, 0o755)).To(Succeed())
	said := run(ctx, nil, testenv.RepoFile("test", "e2e", "testdata", "postgres", "images.sh"), dir)
	for line := range strings.Lines(said) {
		versions = append(versions, strings.Fields(line)[2]) // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
	}
	for _, which := range []string{"before", "after"} {
		pushed, err := w.cluster.PushFolder(ctx, localcluster.Folder{Dir: filepath.Join(dir, which), Command: []string{"/start"}}, "postgres:"+which)
		Expect(err).NotTo(HaveOccurred())
		images = append(images, pushed.Tag)
	}
	Expect(versions).To(HaveLen(2))
	return images, versions
}
