// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/external/dbagent"
	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/fakedb"
	. "github.com/acme/platform-operator/internal/testenv/kindtest"
	. "github.com/acme/platform-operator/internal/testenv/suite"
)

var (
	ctx     = context.Background()
	servers *fakedb.Servers
)

func TestController(t *testing.T) {
	s := Setup{Options: testenv.Options{WithControllers: true}, Scheme: operator.Scheme(), Installed: true}
	s.Prepare = func() {
		var err error
		servers, err = fakedb.Start(Plane.Config)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(servers.Stop)
	}
	s.Run(t, "Database")
}

// start starts the operator with the agents that the suite plays.
func start(mutate ...func(*operator.Options)) *Operator {
	GinkgoHelper()
	options := []func(*operator.Options){
		Configured("database: {retryMax: 1s, agentImage: registry.acme.com/operator}\n"),
		func(o *operator.Options) { o.Agents = dbagent.NewHTTP(servers.Dial) },
	}
	return StartOperator(append(options, mutate...)...)
}

// database is a PostgreSQL database in a namespace of its own.
func database(with ...func(*v1alpha1.Database)) *v1alpha1.Database {
	GinkgoHelper()
	db := &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Name: "db", Namespace: Namespace()}}
	db.Spec = v1alpha1.DatabaseSpec{Type: v1alpha1.Postgres, Storage: v1alpha1.Storage{Size: resource.MustParse("1Gi")}}
	for _, w := range with {
		w(db)
	}
	return db
}

// again is a Database like one that is gone.
func again(db *v1alpha1.Database) *v1alpha1.Database {
	return &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Name: db.Name, Namespace: db.Namespace}, Spec: db.Spec}
}

func meta(db *v1alpha1.Database, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: db.Namespace, Name: name}
}

func secretOf(db *v1alpha1.Database) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(db, "db")}
}

func adminOf(db *v1alpha1.Database) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: meta(db, "db-admin")}
}

func claimOf(db *v1alpha1.Database) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{ObjectMeta: meta(db, "db-g1")}
}

func serverOf(db *v1alpha1.Database) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{ObjectMeta: meta(db, "db-g1")}
}

func volumeOf(db *v1alpha1.Database) *corev1.PersistentVolume {
	GinkgoHelper()
	claim := claimOf(db)
	Expect(Reload(claim)).To(Succeed())
	Expect(claim.Spec.VolumeName).NotTo(BeEmpty())
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim.Spec.VolumeName}}
}

// shown is what the connection Secret has, as USER PASSWORD.
func shown(db *v1alpha1.Database) func() string {
	return func() string {
		secret := secretOf(db)
		if err := Reload(secret); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("%s %s", secret.Data["username"], secret.Data["password"])
	}
}

// works reports whether an application that reads the connection Secret now can log in.
func works(db *v1alpha1.Database) func() error {
	return func() error {
		secret := secretOf(db)
		if err := Reload(secret); err != nil {
			return err
		}
		return servers.Works(db.Namespace+"/db-g1", string(secret.Data["username"]), string(secret.Data["password"]))
	}
}
