// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1ac "k8s.io/client-go/applyconfigurations/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// Plan says what follows from a WebApp once all goes well: migrations succeed, and new pods serve.
func Plan(o Options) engine.Plan {
	return engine.PlanOf[*v1alpha1.WebApp]{
		Of: v1alpha1.GroupVersion.WithKind("WebApp"), Name: Name, Owns: owns, Proves: proves, Reads: plannedReads, Children: o.planned,
	}.Plan()
}

func plannedReads(a *v1alpha1.WebApp) []client.Object {
	key := metav1.ObjectMeta{Namespace: a.Namespace, Name: nameOf(a)}
	all := []client.Object{&appsv1.Deployment{ObjectMeta: key}, &corev1.Service{ObjectMeta: key}}
	if own, err := contentOf(a.Spec); err == nil {
		if c := choose(a, own.hash); c.hash != "" && c.hash != own.hash {
			all = append(all, record(a, c))
		}
	}
	return all
}

// record is the key of the ControllerRevision of a revision.
func record(a *v1alpha1.WebApp, c course) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: revisionName(a, c.hash)}}
}

func (o Options) planned(a *v1alpha1.WebApp, known engine.Known) (p engine.Planned, err error) {
	own, err := contentOf(a.Spec)
	if err != nil {
		return p, err
	}
	c := choose(a, own.hash)
	wanted, err := plannedVersion(a, c, own, known)
	if err != nil {
		return p, err
	}
	in := lead(a, wanted, version{}, wanted.app == nil)
	if wanted.app == nil {
		p.Notes = append(p.Notes, fmt.Sprintf(
			"revision %d, which spec.rollbackTo or a rollback asks for, is not on record: the Deployment stays as it is", c.number))
	}
	in.revision, in.controllers = c.number, o.IngressControllers
	if err := in.plannedLive(a, known); err != nil {
		return p, err
	}
	if p.Children, err = in.recorded(desired(in)); err != nil {
		return p, err
	}
	if name := migrationName(in.app); name != "" && c.why == bySpec && !hasMigrated(&a.Status, name) {
		job, err := in.migrationJob()
		if err != nil {
			return p, err
		}
		p.Once = append(p.Once, job)
		p.Notes = append(p.Notes, "pods of the new version start once the Job "+name+" has succeeded")
	}
	return p, nil
}

// plannedLive reads from the live Deployment and Service what others may take from the operator.
func (in *input) plannedLive(a *v1alpha1.WebApp, known engine.Known) error {
	key := metav1.ObjectMeta{Namespace: a.Namespace, Name: nameOf(a)}
	live, service := &appsv1.Deployment{ObjectMeta: key}, &corev1.Service{ObjectMeta: key}
	if known.Get(live) && metav1.IsControlledBy(live, a) {
		ours, err := appsv1ac.ExtractDeployment(live, names.FieldManager(Name))
		if err != nil {
			return fmt.Errorf("reading what of the Deployment is the operator's: %w", err)
		}
		in.deployment = &held{ours: ours, live: live}
	}
	in.clash = known.Get(service) && metav1.IsControlledBy(service, a) && in.clashes(service)
	return nil
}

// plannedVersion is the version that the pods are to be made from; the zero value when there is no record of it.
func plannedVersion(a *v1alpha1.WebApp, c course, own content, known engine.Known) (version, error) {
	if c.hash == own.hash {
		return versionOf(a, own)
	}
	live := record(a, c)
	if c.hash == "" || !known.Get(live) || !metav1.IsControlledBy(live, a) {
		return version{}, nil
	}
	what, unchanged := readRevision(live, c.hash)
	if !unchanged {
		return version{}, nil
	}
	return versionOf(a, what)
}
