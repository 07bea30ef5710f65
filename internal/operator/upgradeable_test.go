// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	operatorcrds "github.com/operator-framework/api/crds"
	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/acme/platform-operator/internal/operator"
	"github.com/acme/platform-operator/internal/testenv"
	"github.com/acme/platform-operator/internal/testenv/kindtest"
)

// olmCondition is the condition of a real OperatorCondition, as operator-lib reads and writes it in a pod. Before the first
// write another writer changes the object, so that the write conflicts.
type olmCondition struct {
	client client.Client
	key    client.ObjectKey
	first  sync.Once
}

var errNotAsked = errors.New("the operator is not to read its condition")

func (c *olmCondition) Get(context.Context) (*metav1.Condition, error) { return nil, errNotAsked }

func (c *olmCondition) Set(ctx context.Context, status metav1.ConditionStatus, options ...conditions.Option) error {
	o := &operatorsv2.OperatorCondition{}
	if err := c.client.Get(ctx, c.key, o); err != nil {
		return err
	}
	var err error
	c.first.Do(func() {
		other := o.DeepCopy()
		other.Annotations = map[string]string{"somebody": "else"}
		err = c.client.Update(ctx, other)
	})
	if err != nil {
		return err
	}
	condition := metav1.Condition{Type: operatorsv2.Upgradeable, Status: status}
	for _, option := range options {
		option(&condition)
	}
	meta.SetStatusCondition(&o.Spec.Conditions, condition)
	return c.client.Update(ctx, o)
}

// says is what OLM reads.
func (c *olmCondition) says(w *world) string {
	w.Helper()
	o := &operatorsv2.OperatorCondition{}
	w.must(c.client.Get(w.Context(), c.key, o))
	if found := meta.FindStatusCondition(o.Spec.Conditions, operatorsv2.Upgradeable); found != nil {
		return string(found.Status) + " " + found.Reason + ": " + found.Message
	}
	return "nothing"
}

// forget takes away what was said.
func (c *olmCondition) forget(w *world) {
	w.Helper()
	o := &operatorsv2.OperatorCondition{}
	w.must(c.client.Get(w.Context(), c.key, o))
	o.Spec.Conditions = nil
	w.must(c.client.Update(w.Context(), o))
}

func newOLMCondition(w *world) *olmCondition {
	w.Helper()
	_, err := envtest.InstallCRDs(w.plane.Config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{operatorcrds.OperatorCondition()},
	})
	w.must(err)
	scheme := operator.Scheme()
	w.must(operatorsv2.AddToScheme(scheme))
	live, err := client.New(w.plane.Config, client.Options{Scheme: scheme})
	w.must(err)
	c := &olmCondition{client: live, key: client.ObjectKey{Namespace: testenv.OperatorNamespace, Name: "acme-platform-operator.v0.1.0"}}
	w.must(live.Create(w.Context(), &operatorsv2.OperatorCondition{ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: c.key.Name}}))
	return c
}

// A control plane without controllers keeps a deleted Namespace for ever: that is the critical moment.
func TestOLMIsToldWhenTheOperatorMustNotBeReplaced(t *testing.T) {
	w := newWorld(t)
	condition := newOLMCondition(w)
	op := kindtest.Start(t, w.plane, func(o *operator.Options) { o.Upgradeable = condition })
	const idle = "True NothingCritical: nothing critical is in progress"
	w.eventually("OLM may upgrade, although the first write met another one", func() bool { return condition.says(w) == idle })

	n := team("leaving")
	w.must(w.admin.Create(t.Context(), n))
	w.eventually("its namespace is provided", func() bool { return w.ready(n) == "True Ready" })
	w.must(w.admin.Delete(t.Context(), n))
	const held = "False InFlight: AcmeNamespace leaving: its release is reported to billing, and its namespace still exists"
	w.eventually("OLM has to wait", func() bool { return condition.says(w) == held })

	op.Stop()
	condition.forget(w)
	op.Start()
	w.eventually("the next leader says so, too", func() bool { return condition.says(w) == held })

	w.eventually("the finalizer is off", func() bool {
		w.must(w.admin.Get(t.Context(), client.ObjectKeyFromObject(n), n))
		n.Finalizers = nil
		return w.admin.Update(t.Context(), n) == nil
	})
	w.eventually("OLM may continue when it is gone", func() bool { return condition.says(w) == idle })
}
