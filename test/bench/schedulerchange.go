// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	schedulingv1alpha1 "github.com/acme/platform-operator/api/scheduling/v1alpha1"
)

const (
	// configChanges is how many changes of a configuration the requests are counted of, and leaseFor how long the Lease is held.
	configChanges, leaseFor = 10, time.Hour
	// writesOfChange are those of a change that nobody hinders: the ConfigMap is created, the Deployment applied and the former ConfigMap
	// deleted; the status says that pods start, that they serve, and that the former configuration is gone.
	writesOfChange = 6
)

// configuration counts what the operator asks of the API server for each change of a configuration. The pods are simulated: nothing
// in them elects the active one, so that the bench writes the Lease.
func (b *bench) configuration(ctx context.Context, p *process, res *schedulerResult) error {
	env := []string{"KUBECONFIG=" + b.adminKubeconfig}
	if err := b.command(ctx, env, b.path("bin", "kubectl"), "apply", "--server-side", "-k", "config/scheduling"); err != nil {
		return err
	}
	profile := &schedulingv1alpha1.SchedulerProfile{ObjectMeta: metav1.ObjectMeta{Name: "changed"}, Spec: schedulingv1alpha1.SchedulerProfileSpec{
		Image: "example.com/kube-scheduler", Replicas: ptr.To[int32](1), Profiles: []schedulingv1alpha1.Profile{{SchedulerName: "changed"}},
	}}
	if err := b.admin.Create(ctx, profile); err != nil {
		return fmt.Errorf("creating a SchedulerProfile: %w", err)
	}
	if err := b.lead(ctx, profile); err != nil {
		return err
	}
	_, before, err := p.awaitIdle(ctx, 0)
	if err != nil {
		return err
	}
	for i := range configChanges {
		patch := client.MergeFrom(profile.DeepCopy())
		profile.Spec.Profiles[0].PercentageOfNodesToScore = ptr.To(int32(50 + i))
		if err := b.admin.Patch(ctx, profile, patch); err != nil {
			return fmt.Errorf("changing a SchedulerProfile: %w", err)
		}
		if err := b.lead(ctx, profile); err != nil {
			return err
		}
	}
	_, after, err := p.awaitIdle(ctx, 0)
	if err != nil {
		return err
	}
	each := after.since(before, configChanges)
	res.Requests, res.Writes = each.Total, each.Apply+each.Patch+each.Delete
	return client.IgnoreNotFound(b.admin.Delete(ctx, profile))
}

// lead lets a pod of the scheduler hold the Lease, as kube-scheduler does, until the SchedulerProfile is Ready with its latest spec and
// its former configuration is gone.
func (b *bench) lead(ctx context.Context, profile *schedulingv1alpha1.SchedulerProfile) error {
	name := profile.Name + "-" + schedulerProfile
	return poll(ctx, "the SchedulerProfile is Ready", 100*time.Millisecond, func(ctx context.Context) (bool, error) {
		pods, configs := &corev1.PodList{}, &corev1.ConfigMapList{}
		err := errors.Join(
			b.admin.List(ctx, pods, client.InNamespace(ownNamespace), client.MatchingLabels{"scheduling.acme.com/profile": name}),
			b.admin.List(ctx, configs, client.InNamespace(ownNamespace)),
			b.admin.Get(ctx, client.ObjectKeyFromObject(profile), profile))
		if err != nil {
			return false, err
		}
		if len(pods.Items) != 1 {
			return false, nil
		}
		if err := b.hold(ctx, name, pods.Items[0].Name+"_bench"); err != nil {
			return false, err
		}
		configs.Items = slices.DeleteFunc(configs.Items, func(m corev1.ConfigMap) bool { return !metav1.IsControlledBy(&m, profile) })
		c := meta.FindStatusCondition(profile.Status.Conditions, "Ready")
		return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == profile.Generation && len(configs.Items) == 1, nil
	})
}

// hold writes a Lease, unless it has that holder.
func (b *bench) hold(ctx context.Context, name, holder string) error {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ownNamespace, Name: name}}
	err := b.admin.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil || err == nil && ptr.Deref(lease.Spec.HolderIdentity, "") == holder {
		return err
	}
	now := metav1.NowMicro()
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &holder, RenewTime: &now, AcquireTime: &now, LeaseDurationSeconds: ptr.To(int32(leaseFor.Seconds())),
	}
	if err != nil {
		return b.admin.Create(ctx, lease)
	}
	return b.admin.Update(ctx, lease)
}
