// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/acme/platform-operator/internal/engine"
)

const (
	// lookAgain is how often it is looked at pods that do not serve yet: nothing watches them.
	lookAgain = 10 * time.Second
	// recheck is how often it is looked at what a watch should report.
	recheck = time.Minute
	// maxPods is at how many pods it is looked for what is wrong.
	maxPods = 200
)

// observation is how far the pods are that there are.
type observation struct {
	// deployment is nil when there is none.
	deployment *appsv1.Deployment
	complete   bool
	out        engine.Outcome // when it is complete
	due        time.Time
}

// observe records how far the pods are that the Deployment makes, in every run: also while a newer version is held back.
func (r *run) observe(ctx context.Context, former []*corev1.ConfigMap, out engine.Outcome) (engine.Outcome, error) {
	status := &r.Obj.Status
	status.Selector = labels.FormatLabels(selectorOf(r.Obj))
	d, exists, err := own(ctx, r, r.key(), &appsv1.Deployment{})
	if err != nil || !exists {
		return out, err
	}
	now, want := r.Clock.Now(), ptr.Deref(d.Spec.Replicas, 1)
	status.Replicas, status.ReadyReplicas = d.Status.Replicas, d.Status.ReadyReplicas
	status.Pods = fmt.Sprintf("%d/%d", d.Status.ReadyReplicas, want)
	r.seen.deployment = d
	r.seen.out, r.seen.complete = judgeRollout(d)
	r.seen.due = track(r.Obj, progress{complete: r.seen.complete, none: want == 0, paused: d.Spec.Paused, held: r.hold}, now)
	files := filesOf(d)
	switch {
	case r.seen.complete:
		status.Image, status.ConfigMap = imageOf(d), files
	case status.Image == "" && status.ConfigMap == "" && d.Status.AvailableReplicas > 0: // a first version that is not complete
		status.ConfigMap = files
	}
	if slices.ContainsFunc(former, func(c *corev1.ConfigMap) bool { return c.Name != status.ConfigMap && c.Name != files }) {
		out = out.Due(now) // nothing else leads to the run that deletes them
	}
	return out, nil
}

// checkPods reports whether all pods run the present version and serve, and else which does not, and why.
func (r *run) checkPods(ctx context.Context) (engine.Outcome, error) {
	if r.seen.deployment == nil {
		return engine.Wait(lookAgain, ReasonRollingOut, "the Deployment was made just now"), nil
	}
	if r.seen.complete {
		return judgeServing(r.Obj, r.course, r.seen.out), nil
	}
	pods, err := r.findFaults(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	return r.judgeLate(ctx, diagnose(r.seen.deployment, pods), r.seen.due)
}

// checkAutoscaler reports whether the autoscaler works.
func (r *run) checkAutoscaler(ctx context.Context) (engine.Outcome, error) {
	if r.Obj.Spec.Autoscaling == nil {
		return engine.Done().Saying("no autoscaling is asked for"), nil
	}
	hpa, exists, err := own(ctx, r, r.key(), &autoscalingv2.HorizontalPodAutoscaler{})
	if err != nil {
		return engine.Outcome{}, err
	}
	if !exists {
		return engine.Wait(lookAgain, ReasonAutoscalerPending, "the HorizontalPodAutoscaler was made just now"), nil
	}
	return judgeAutoscaler(hpa), nil
}

// checkIngress reports whether the application is reached from outside.
func (r *run) checkIngress(ctx context.Context) (engine.Outcome, error) {
	if r.lost.reason != "" {
		return engine.BlockFor(recheck, r.lost.reason, r.lost.message+", or remove spec.publish.externalName. "+
			"The application is served at "+r.Obj.Status.URL), nil
	}
	for _, key := range classKeys(r.Obj) {
		err := r.Client.Get(ctx, key, &networkingv1.IngressClass{})
		if apierrors.IsNotFound(err) {
			return engine.Block(ReasonIngressClassMissing, fmt.Sprintf(
				"there is no IngressClass %q in the cluster, so that no ingress controller serves this application; "+
					"correct spec.ingress.className", key.Name)), nil
		}
		if err != nil {
			return engine.Outcome{}, fmt.Errorf("reading the IngressClass: %w", err)
		}
	}
	ingress, exists, err := own(ctx, r, r.key(), &networkingv1.Ingress{})
	if err != nil {
		return engine.Outcome{}, err
	}
	waits := r.Obj.Spec.Ingress == nil || ptr.Deref(r.Obj.Spec.Ingress.WaitForAddress, true)
	if waits && (!exists || len(ingress.Status.LoadBalancer.Ingress) == 0) {
		return engine.Wait(recheck, ReasonNoAddress, "no ingress controller has given the Ingress an address yet. "+
			"Where none does, set spec.ingress.waitForAddress to false"), nil
	}
	return engine.Done().Saying("served at " + r.Obj.Status.URL), nil
}
