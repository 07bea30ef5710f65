// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// secureData keeps or deletes the data of a Database that is being deleted. It ends when the server has stopped.
func (r *run) secureData(ctx context.Context) (engine.Outcome, error) {
	if err := r.readClaim(ctx); err != nil {
		return engine.Outcome{}, err
	}
	keeps := r.Obj.Spec.DeletionPolicy != v1alpha1.DeletionDelete
	if err := r.holdClaim(ctx, keeps || r.Obj.Spec.DeletionProtection); err != nil {
		return engine.Outcome{}, err
	}
	if r.Obj.Spec.DeletionProtection {
		return engine.Block(ReasonDeletionProtected, "spec.deletionProtection is true: set it to false to let this object go. "+
			"A deletion cannot be undone, but its volume is kept as long as it is true; "+
			"the server runs, too, unless the Namespace is being deleted"), nil
	}
	if out, err := r.stopServer(ctx); err != nil || !out.GoesOn() {
		return out, err
	}
	return engine.Done(), r.settleData(ctx, keeps)
}

// settleData leaves the data to the next Database of this name, or deletes it.
func (r *run) settleData(ctx context.Context, keeps bool) error {
	switch {
	case r.claimIs != claimOurs: // also one that this object never took up: with VersionFixed, its user is asked to delete the object
		return nil
	case !keeps:
		return r.deleteData(ctx)
	}
	r.report()
	if err := r.releaseAccounts(ctx); err != nil {
		return err
	}
	return r.releaseClaim(ctx)
}

// holdClaim restores the marks on the claim, without which the operator may not release it, and keeps its volume. Both come first, so
// that nothing that happens while the server stops can lose the data. A claim to keep that was released is not marked again: a run that
// does not know yet that the object is gone would be the last.
func (r *run) holdClaim(ctx context.Context, keeps bool) error {
	if r.claimIs != claimOurs {
		return nil
	}
	if !keeps || !isReleased(r.claim) {
		after := r.claim.DeepCopy()
		r.mark(after)
		if err := r.patch(ctx, r.claim, after); err != nil {
			return err
		}
		r.claim = after
	}
	if !keeps {
		return nil
	}
	return r.keepVolume(ctx)
}

// stopServer deletes the StatefulSet, and waits for the end of the pod.
func (r *run) stopServer(ctx context.Context) (engine.Outcome, error) {
	set := &appsv1.StatefulSet{}
	exists, err := r.read(ctx, r.key(generationName(r.Obj)), set)
	if err != nil || !exists || !r.Owned(set) {
		return engine.Done(), err
	}
	if set.DeletionTimestamp == nil {
		if err := r.Discard(ctx, set, metav1.DeletePropagationForeground); err != nil {
			return engine.Outcome{}, err
		}
	}
	pod := &corev1.Pod{}
	exists, err = r.read(ctx, r.key(generationName(r.Obj)+"-0"), pod)
	if err != nil {
		return engine.Outcome{}, err
	}
	if exists && pod.DeletionTimestamp != nil && r.Clock.Now().After(pod.DeletionTimestamp.Add(lostAfter)) {
		return diagnose(observation{now: r.Clock.Now(), pace: r.pace(DataSecured), pod: pod}), nil
	}
	return engine.Wait(r.pace(DataSecured), ReasonServerStopping,
		fmt.Sprintf("the StatefulSet %s is being deleted; the server stops first", set.Name)), nil
}

// report says where the data is.
func (r *run) report() {
	if volume := r.claim.Spec.VolumeName; volume != "" {
		r.Event(corev1.EventTypeNormal, EventVolumeKept, "The PersistentVolume %s keeps the data of the Database %s/%s",
			volume, r.Obj.Namespace, r.Obj.Name)
		r.Log.Info("A volume keeps the data of a deleted Database", "volume", volume, "claim", r.claim.Name)
	}
}

// deleteData deletes the claim, with its volume, and the accounts.
func (r *run) deleteData(ctx context.Context) error {
	if err := r.unkeepVolume(ctx); err != nil {
		return err
	}
	if err := r.deleteAccounts(ctx); err != nil {
		return err
	}
	if r.claim.DeletionTimestamp == nil {
		if err := r.Discard(ctx, r.claim, metav1.DeletePropagationBackground); err != nil {
			return err
		}
		leaving := &corev1.PersistentVolumeClaim{}
		if exists, err := r.read(ctx, client.ObjectKeyFromObject(r.claim), leaving); err != nil || !exists || leaving.UID != r.claim.UID {
			return err
		}
		r.claim = leaving
	}
	return r.releaseClaim(ctx)
}

// deleteAccounts deletes the administration Secret.
func (r *run) deleteAccounts(ctx context.Context) error {
	secret := &corev1.Secret{}
	exists, err := r.read(ctx, r.key(adminName(r.Obj)), secret)
	if err != nil || !exists || !r.isMarked(secret) {
		return err
	}
	return r.Discard(ctx, secret, metav1.DeletePropagationBackground)
}

// releaseAccounts leaves the administration Secret to the next Database of this name.
func (r *run) releaseAccounts(ctx context.Context) error {
	secret := &corev1.Secret{}
	exists, err := r.read(ctx, r.key(adminName(r.Obj)), secret)
	if err != nil || !exists || !r.isMarked(secret) {
		return err
	}
	after := secret.DeepCopy()
	delete(after.Labels, names.LabelDataUID)
	return client.IgnoreNotFound(r.patch(ctx, secret, after))
}

// unkeepVolume restores the reclaim policy that the volume had before it was kept.
func (r *run) unkeepVolume(ctx context.Context) error {
	volume, err := r.volume(ctx)
	if err != nil || volume == nil || volume.Annotations[names.AnnotationReclaimPolicy] == "" {
		return err
	}
	after := volume.DeepCopy()
	after.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimPolicy(volume.Annotations[names.AnnotationReclaimPolicy])
	delete(after.Annotations, names.AnnotationReclaimPolicy)
	return r.patch(ctx, volume, after)
}
