// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	databasesv1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/hack/cluster/localcluster"
	"github.com/acme/platform-operator/internal/testenv"
)

const (
	vault      = "vault" // the namespace of the Database
	bookName   = "book"  // the Database
	bookServer = bookName + "-g1"
	clerkName  = "clerk" // an application that writes numbers into it
)

// bookVersion is the version of PostgreSQL that this machine has.
var bookVersion string

// book is the Database. Its image is the default one, as the cluster's registry has it.
func book() *databasesv1alpha1.Database {
	return &databasesv1alpha1.Database{
		ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: bookName},
		Spec: databasesv1alpha1.DatabaseSpec{
			Type: databasesv1alpha1.Postgres, Version: bookVersion, Storage: databasesv1alpha1.Storage{Size: resource.MustParse("1Gi")},
		},
	}
}

func bookSecret() *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: bookName}}
}

// condition is a condition of the Database, as STATUS REASON: MESSAGE.
func (w *world) condition(ctx context.Context, g Gomega, name string) string {
	db := book()
	g.Expect(w.client.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
	g.Expect(db.Status.ObservedGeneration).To(Equal(db.Generation))
	c := meta.FindStatusCondition(db.Status.Conditions, name)
	g.Expect(c).NotTo(BeNil())
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

func (w *world) awaitRunning(ctx context.Context) {
	GinkgoHelper()
	eventually(ctx, "the database runs", soon, func(g Gomega) {
		g.Expect(w.condition(ctx, g, "Ready")).To(HavePrefix("True Ready"))
		g.Expect(w.condition(ctx, g, "CredentialsInSync")).To(HavePrefix("True"))
		db := book()
		g.Expect(w.client.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
		g.Expect(db.Status.Phase).To(Equal(databasesv1alpha1.PhaseRunning))
	})
}

func (w *world) changeBook(ctx context.Context, do func(*databasesv1alpha1.DatabaseSpec)) {
	GinkgoHelper()
	eventually(ctx, "the Database is changed", soon, func(g Gomega) {
		db := book()
		g.Expect(w.client.Get(ctx, client.ObjectKeyFromObject(db), db)).To(Succeed())
		do(&db.Spec)
		g.Expect(w.client.Update(ctx, db)).To(Succeed())
	})
}

// employ starts the application, with the connection Secret as its environment.
func (w *world) employ(ctx context.Context) {
	GinkgoHelper()
	pod := w.pod(vault, clerkName, "serve")
	c := &pod.Spec.Containers[0]
	c.Image = w.pushLedger(ctx)
	c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: bookName}}}}
	first := c.DeepCopy()
	first.Name, first.Args = "migrate", []string{"migrate"}
	pod.Spec.InitContainers = []corev1.Container{*first}
	Expect(w.client.Create(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: clerkName}, Spec: appsv1.DeploymentSpec{
		Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: pod.Labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
	}})).To(Succeed())
	Expect(w.client.Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: vault, Name: clerkName}, Spec: corev1.ServiceSpec{
		Selector: pod.Labels, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}})).To(Succeed())
}

// restartClerk starts the application again, which has the password of its start in its environment.
func (w *world) restartClerk(ctx context.Context) {
	GinkgoHelper()
	Expect(w.client.DeleteAllOf(ctx, &corev1.Pod{}, client.InNamespace(vault), client.MatchingLabels(w.pod(vault, clerkName).Labels))).To(Succeed())
}

// clerk is the Service of the application.
func (w *world) clerk(ctx context.Context, g Gomega) *corev1.Service {
	return w.service(ctx, g, clerkName)
}

func (w *world) service(ctx context.Context, g Gomega, name string) *corev1.Service {
	s := &corev1.Service{}
	g.Expect(w.client.Get(ctx, client.ObjectKey{Namespace: vault, Name: name}, s)).To(Succeed())
	return s
}

// connection is what the connection Secret has, as a URL.
func (w *world) connection(ctx context.Context, g Gomega) string {
	s := bookSecret()
	g.Expect(w.client.Get(ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
	return string(s.Data["uri"])
}

// query logs in, and asks for something.
func (w *world) query(ctx context.Context, url string) error {
	config, err := pgconn.ParseConfig(url)
	if err != nil {
		return err
	}
	service := &corev1.Service{}
	if err := w.client.Get(ctx, client.ObjectKey{Namespace: vault, Name: bookName}, service); err != nil {
		return err
	}
	config.Host = service.Spec.ClusterIP // this machine does not know the names of the cluster
	config.Fallbacks, config.TLSConfig = nil, nil
	c, err := pgconn.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	_, err = c.Exec(ctx, "SELECT count(*) FROM numbers").ReadAll()
	_ = c.Close(ctx)
	return err
}

func (w *world) awaitGone(ctx context.Context, o client.Object) {
	GinkgoHelper()
	eventually(ctx, fmt.Sprintf("%T %s is gone", o, o.GetName()), 2*soon, func(g Gomega) {
		err := w.client.Get(ctx, client.ObjectKeyFromObject(o), o)
		g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v, finalizers %v", err, o.GetFinalizers())
	})
}

// pushBook makes the image of PostgreSQL under the name that Databases have it by.
func (w *world) pushBook(ctx context.Context) {
	GinkgoHelper()
	dir := filepath.Join(w.dir, bookName)
	Expect(os.Mkdir(dir, 0o755)).To(Succeed())
	said := run(ctx, nil, testenv.RepoFile("test", "e2e", "testdata", "postgres", "images.sh"), dir)
	version := strings.Fields(said)[2] // postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)
	bookVersion, _, _ = strings.Cut(version, ".")
	_, err := w.cluster.PushFolder(ctx, localcluster.Folder{Dir: filepath.Join(dir, "after"), Command: []string{"/start"}}, "postgres:"+bookVersion)
	Expect(err).NotTo(HaveOccurred())
}
