// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"context"
	"reflect"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// few is an API server with some objects. It fails the test when too many are asked for in one answer.
type few struct {
	client.Reader
	t       *testing.T
	objects []client.Object
}

func (f few) List(_ context.Context, list client.ObjectList, opts ...client.ListOption) error {
	asked := client.ListOptions{}
	asked.ApplyOptions(opts)
	if asked.Limit < 1 || asked.Limit > 20 {
		f.t.Errorf("%d of %T in one answer", asked.Limit, list)
	}
	for _, o := range f.objects {
		if o.GetNamespace() != asked.Namespace || !asked.LabelSelector.Matches(labels.Set(o.GetLabels())) {
			continue
		}
		switch list := list.(type) {
		case *corev1.PodList:
			if p, is := o.(*corev1.Pod); is {
				list.Items = append(list.Items, *p)
			}
		case *batchv1.JobList:
			if j, is := o.(*batchv1.Job); is {
				list.Items = append(list.Items, *j)
			}
		case *metav1.PartialObjectMetadataList:
			if s, is := o.(*appsv1.ReplicaSet); is && list.Kind == "ReplicaSetList" {
				list.Items = append(list.Items, metav1.PartialObjectMetadata{ObjectMeta: s.ObjectMeta})
			}
		}
	}
	return nil
}

func (f few) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	for _, o := range f.objects {
		if client.ObjectKeyFromObject(o) == key && reflect.TypeOf(o) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o).Elem())
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

func runAgainst(t *testing.T, a *v1alpha1.WebApp, objects ...client.Object) *run {
	return &run{Scope: engine.Scope[*v1alpha1.WebApp]{Obj: a, Live: few{t: t, objects: objects}}, in: input{app: a}, target: a}
}

func inNamespace(p corev1.Pod, a *v1alpha1.WebApp, label, value string) *corev1.Pod {
	p.Namespace, p.Labels = a.Namespace, map[string]string{label: value}
	return &p
}

func TestPodsAreReadAFewAtATime(t *testing.T) {
	a := migrating()
	a.Namespace = "ns"
	m := job("m", "")
	m.Namespace = a.Namespace
	a.Status.Revisions, a.Status.Revision = []v1alpha1.Revision{{Number: 1}}, 1
	r := runAgainst(t, a, inNamespace(pod("b", crashing(ended(3, "Error", ""))), a, LabelWebApp, nameOf(a)),
		inNamespace(pod("m", crashing(ended(4, "Error", ""))), a, batchv1.JobNameLabel, m.Name))
	r.seen.deployment = rolled(2)
	r.Scope.Clock = clocktesting.NewFakePassiveClock(noon)
	if out, err := r.checkPods(t.Context()); err != nil || out.Reason() != ReasonCrashLoop {
		t.Errorf("got %+v, %v", out, err)
	}
	if of, err := r.podsOf(t.Context(), m); err != nil || !of.any || of.worst.reason != ReasonCrashLoop {
		t.Errorf("got %+v, %v", of, err)
	}
}

func TestNothingRunsBesideAMigration(t *testing.T) {
	a := migrating()
	a.Namespace, a.UID = "ns", types.UID("u")
	of := func(name string, end batchv1.JobConditionType, owner types.UID) *batchv1.Job {
		j := job(name, end)
		j.Namespace, j.Labels = a.Namespace, map[string]string{LabelMigration: nameOf(a)}
		j.OwnerReferences = []metav1.OwnerReference{{UID: owner, Controller: new(true)}}
		return j
	}
	in := func(phase corev1.PodPhase, of string) *corev1.Pod {
		p := inNamespace(pod("p", corev1.ContainerStatus{}), a, LabelMigration, of)
		p.Status.Phase = phase
		return p
	}
	for _, tc := range []struct {
		why, want string
		give      client.Object
	}{
		{"a Job that the cache does not have yet", "the Job old", of("old", "", "u")},
		{"a Job that has ended", "", of("old", batchv1.JobFailed, "u")},
		{"a Job of somebody else", "", of("old", "", "v")},
		{"the Job that is to be made", "", of(migrationName(a), "", "u")},
		{"a pod that runs", "the pod p", in(corev1.PodRunning, nameOf(a))},
		{"a pod that is to run", "the pod p", in(corev1.PodPending, nameOf(a))},
		{"a pod of another WebApp", "", in(corev1.PodRunning, "other")},
		{"a pod that has ended", "", in(corev1.PodSucceeded, nameOf(a))},
		{"a pod that has failed", "", in(corev1.PodFailed, nameOf(a))},
	} {
		if got, err := runAgainst(t, a, tc.give).findUnended(t.Context()); err != nil || got != tc.want {
			t.Errorf("%s: got %q, %v", tc.why, got, err)
		}
	}
}

func TestARecordOfARevisionIsOneThatThereIs(t *testing.T) {
	a := history(func(*v1alpha1.WebApp) {}, 1)
	long := v1alpha1.Revision{Hash: strings.Repeat("a", 64)}
	r := &run{Scope: engine.Scope[*v1alpha1.WebApp]{Obj: a}, in: input{content: content{hash: "1"}}}
	if !r.hasRecord(a.Status.Revisions[0]) || r.hasRecord(long) {
		t.Error("the revision that is made has a record, and no other")
	}
	c := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{Name: revisionName(a, long.Hash)}}
	if r.records = append(r.records, c); !r.hasRecord(long) {
		t.Error("it is there")
	}
	if c.DeletionTimestamp = new(metav1.Now()); r.hasRecord(long) {
		t.Error("it goes")
	}
}
