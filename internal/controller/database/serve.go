// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// compose makes the children.
func (r *run) compose(ctx context.Context) (engine.Outcome, error) {
	out, err := r.Compose(func() ([]engine.Child, error) { return r.in.desired(), nil })(ctx)
	if err == nil && out.GoesOn() {
		s := &r.Obj.Status
		s.Endpoint, s.SecretName, s.Binding = endpoint(r.Obj), baseName(r.Obj), &v1alpha1.Binding{Name: baseName(r.Obj)}
	}
	return out, err
}

// checkServer reports whether the server answers, and else why not.
func (r *run) checkServer(ctx context.Context) (engine.Outcome, error) {
	switch {
	case r.set == nil:
		return engine.Wait(r.pace(Running), ReasonStarting, "the StatefulSet was created just now"), nil
	case r.Obj.Spec.Suspended:
		return judgeSuspended(r.set.Status.Replicas), nil
	}
	if r.awaitsAgent() {
		return engine.Again(recheck), nil // the answer requeues the object: until then, what the status says is the best that is known
	}
	answers := r.answered && r.agentErr == nil
	if out := judgeAgent(r.agent); answers && !out.GoesOn() {
		return out, nil
	}
	if isReady(r.set) {
		return engine.Done().Saying("the server answers at " + endpoint(r.Obj)), nil
	}
	return r.explain(ctx, answers)
}

// explain says why the server is not ready: what the agent waits for, if it answers, unless the pod says more.
func (r *run) explain(ctx context.Context, answers bool) (engine.Outcome, error) {
	seen, err := r.observe(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	seen.pace = r.pace(Running)
	out := diagnose(seen)
	if message := r.agent.Message; answers && message != "" && out.Reason() == ReasonStarting {
		out = engine.Wait(seen.pace, ReasonStarting, "the server is not ready: "+message)
	}
	return out, nil
}

// awaitsAgent reports whether the agent was asked for the first time, though the status says how the server does: the operator has
// started, or the spec has changed.
func (r *run) awaitsAgent() bool {
	c := meta.FindStatusCondition(r.Obj.Status.Conditions, Running)
	return r.asked && !r.answered && c != nil && c.Status != metav1.ConditionUnknown
}

// judgeSuspended reports whether a server that is not wanted has stopped.
func judgeSuspended(pods int32) engine.Outcome {
	if pods > 0 {
		return engine.Wait(recheck, ReasonServerStopping, "the server is being stopped")
	}
	return engine.Done().Because(ReasonSuspended).Saying("the server is stopped because spec.suspended is true")
}

// isReady reports whether the pod is made from the present template, and ready.
func isReady(set *appsv1.StatefulSet) bool {
	s := set.Status
	return s.ObservedGeneration >= set.Generation && s.ReadyReplicas > 0 && s.UpdatedReplicas > 0
}

// observe reads what may keep the server from being ready.
func (r *run) observe(ctx context.Context) (observation, error) {
	seen, pod := observation{now: r.Clock.Now()}, &corev1.Pod{}
	exists, err := r.read(ctx, r.key(generationName(r.Obj)+"-0"), pod)
	if err != nil {
		return seen, err
	}
	if exists {
		seen.pod = pod
	}
	class := ptr.Deref(r.claim.Spec.StorageClassName, "")
	if class == "" || r.claim.Spec.VolumeName != "" {
		return seen, nil
	}
	if exists, err = r.read(ctx, client.ObjectKey{Name: class}, &storagev1.StorageClass{}); err == nil && !exists {
		seen.classMissing = class
	}
	return seen, err
}
