// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// store makes what outlives the Database: the claim, and the Secret with the accounts.
func (r *run) store(ctx context.Context) (engine.Outcome, error) {
	out, err := r.storeClaim(ctx)
	if err != nil || !out.GoesOn() {
		return out, err
	}
	grown, err := r.grow(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	if out, err = r.storeAccounts(ctx); err != nil || !out.GoesOn() {
		return out, err
	}
	return grown, nil
}

// readClaim reads the claim, and decides what it is to the Database.
func (r *run) readClaim(ctx context.Context) error {
	claim, v := &corev1.PersistentVolumeClaim{}, claimView{mark: names.OwnerMark(Name, r.Obj)}
	if s := r.Obj.Status.Storage; s != nil {
		v.recorded = string(s.ClaimUID)
	}
	exists, err := r.read(ctx, r.key(generationName(r.Obj)), claim)
	if err != nil || !exists {
		r.claimIs = judgeClaim(v)
		return err
	}
	r.server = claim.Annotations[names.AnnotationServer]
	r.claim, v.uid = claim, string(claim.UID)
	v.consent = claim.Spec.VolumeName != "" && r.Obj.Annotations[names.AnnotationAdoptClaim] == claim.Spec.VolumeName
	v.marked = metav1.GetControllerOfNoCopy(claim) == nil && r.isMarked(claim)
	if err := r.readMarks(ctx, &v); err != nil {
		return err
	}
	if r.claimIs = judgeClaim(v); r.claimIs != claimOurs && !r.takesUp() {
		r.server = ""
	}
	return nil
}

// takesUp reports whether the claim has data that the status does not record.
func (r *run) takesUp() bool { return r.claimIs == claimRetained || r.claimIs == claimAdopted }

// readMarks reads what the volume of a claim says that the status does not record.
func (r *run) readMarks(ctx context.Context, v *claimView) error {
	name := r.claim.Spec.VolumeName
	if name == "" || v.uid == v.recorded {
		return nil
	}
	volume := &corev1.PersistentVolume{}
	exists, err := r.read(ctx, client.ObjectKey{Name: name}, volume)
	if err != nil || !exists {
		return err
	}
	r.server = cmp.Or(volume.Annotations[names.AnnotationServer], r.server)
	if volume.Spec.ClaimRef != nil {
		v.volumeOf, v.volumeFor = volume.Annotations[names.AnnotationVolumeOf], string(volume.Spec.ClaimRef.UID)
	}
	return nil
}

// isMarked reports whether an object has the marks of this very Database.
func (r *run) isMarked(o client.Object) bool {
	return o.GetLabels()[names.LabelDataUID] == string(r.Obj.UID) && r.isNamed(o)
}

// isNamed reports whether an object has the mark of a Database of this name.
func (r *run) isNamed(o client.Object) bool {
	return o.GetAnnotations()[names.AnnotationOwner] == names.OwnerMark(Name, r.Obj)
}

// mark puts the marks on an object that has no owner reference, because it may outlive its owner.
func (r *run) mark(o client.Object) {
	labels, annotations := maps.Clone(o.GetLabels()), maps.Clone(o.GetAnnotations())
	o.SetLabels(merged(labels, map[string]string{names.LabelManagedBy: names.Operator, names.LabelDataUID: string(r.Obj.UID)}))
	o.SetAnnotations(merged(annotations, map[string]string{names.AnnotationOwner: names.OwnerMark(Name, r.Obj)}))
}

// storeClaim creates or adopts the claim. It never creates a second one in place of one that had the data.
func (r *run) storeClaim(ctx context.Context) (engine.Outcome, error) {
	name := generationName(r.Obj)
	switch r.claimIs {
	case claimForeign:
		return engine.BlockFor(recheck, engine.ReasonNameTaken, fmt.Sprintf("PersistentVolumeClaim %s exists and does not belong to this object; "+
			"it is left alone. Delete it, choose another name, or, if its data is to be used, set the annotation %s on this object to the name of "+
			"its volume, which is %q now", name, names.AnnotationAdoptClaim, r.claim.Spec.VolumeName)), nil
	case claimLost:
		return engine.BlockFor(recheck, ReasonDataLost, fmt.Sprintf("the PersistentVolumeClaim %s, which had the data, is gone, and the server "+
			"is not started over an empty one. Create a claim of this name for the volume %q, and set the annotation %s on this object to the name "+
			"of that volume; or delete this object", name, r.Obj.Status.Storage.Volume, names.AnnotationAdoptClaim)), nil
	case claimMissing:
		out, err := r.createClaim(ctx)
		if err != nil || !out.GoesOn() {
			return out, err
		}
	default:
		if err := r.adoptClaim(ctx); err != nil {
			return engine.Outcome{}, err
		}
	}
	r.recordClaim()
	if r.claim.DeletionTimestamp != nil {
		return r.heldClaim(ctx)
	}
	return engine.Done(), nil
}

// heldClaim keeps the volume of a claim that somebody has deleted: the deletion cannot be undone.
func (r *run) heldClaim(ctx context.Context) (engine.Outcome, error) {
	if err := r.keepVolume(ctx); err != nil {
		return engine.Outcome{}, err
	}
	return engine.BlockFor(recheck, ReasonClaimTerminating, fmt.Sprintf("somebody has deleted the PersistentVolumeClaim %s; it is held, and the "+
		"volume %s is kept. To bring the data back, set deletionPolicy to Retain, delete this object, create a claim of the same name for the "+
		"volume, and then this object", r.claim.Name, r.claim.Spec.VolumeName)), nil
}

func (r *run) createClaim(ctx context.Context) (engine.Outcome, error) {
	size := r.Obj.Spec.Storage.Size
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Obj.Namespace, Name: generationName(r.Obj), Finalizers: []string{names.FinalizerData}},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: r.Obj.Spec.Storage.StorageClassName,
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: size}},
		},
	}
	r.mark(claim)
	claim.Annotations[names.AnnotationServer] = serverMark(r.Obj.Spec.Type, r.version)
	err := r.Client.Create(ctx, claim, client.FieldOwner(names.FieldManager(Name)), client.DisableReadYourWritesConsistency)
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return engine.Wait(recheck, "NamespaceTerminating", "the Namespace is being deleted"), nil
	case err != nil:
		return engine.Outcome{}, fmt.Errorf("creating the PersistentVolumeClaim %s: %w", claim.Name, err)
	}
	r.claim = claim
	return engine.Done(), nil
}

// adoptClaim restores finalizer and marks of the claim.
func (r *run) adoptClaim(ctx context.Context) error {
	after := r.claim.DeepCopy()
	r.mark(after)
	after.Annotations[names.AnnotationServer] = serverMark(r.Obj.Spec.Type, r.version)
	if after.DeletionTimestamp == nil && !slices.Contains(after.Finalizers, names.FinalizerData) {
		after.Finalizers = append(without(after.Finalizers), names.FinalizerData)
	}
	if err := r.patch(ctx, r.claim, after); err != nil {
		return err
	}
	if r.takesUp() {
		r.Told(func() {
			r.Event(corev1.EventTypeNormal, EventAdopted, "Adopted the PersistentVolumeClaim %s with its data", after.Name)
		})
	}
	r.claim = after
	return nil
}

// patch writes the difference between two versions of an object, if there is one, to the version that was read.
func (r *run) patch(ctx context.Context, before, after client.Object) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if unchanged(before, after) {
		return nil
	}
	err := r.Client.Patch(ctx, after, patch, client.FieldOwner(names.FieldManager(Name)), client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("changing %T %s: %w", after, after.GetName(), err)
	}
	return nil
}

// recordClaim records the claim in the status, and the version of its data.
func (r *run) recordClaim() {
	s := &v1alpha1.StorageStatus{Claim: r.claim.Name, ClaimUID: r.claim.UID, Volume: r.claim.Spec.VolumeName, Adopted: r.claimIs == claimAdopted}
	if before := r.Obj.Status.Storage; before != nil && before.ClaimUID == s.ClaimUID {
		s.Adopted = before.Adopted
	}
	if capacity, known := r.claim.Status.Capacity[corev1.ResourceStorage]; known {
		s.Capacity = &capacity
	}
	r.Obj.Status.Storage, r.Obj.Status.Version = s, r.version
}

// grow asks for a larger volume, once there is one. It never asks for a smaller one.
func (r *run) grow(ctx context.Context) (engine.Outcome, error) {
	want, has := r.Obj.Spec.Storage.Size, r.claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if want.Cmp(has) <= 0 || r.claim.DeletionTimestamp != nil || r.claim.Spec.VolumeName == "" {
		return engine.Done(), nil
	}
	after := r.claim.DeepCopy()
	after.Spec.Resources.Requests = maps.Clone(after.Spec.Resources.Requests)
	after.Spec.Resources.Requests[corev1.ResourceStorage] = want
	err := r.patch(ctx, r.claim, after)
	if apierrors.IsForbidden(err) || apierrors.IsInvalid(err) {
		return r.cannotGrow(ctx, has, err)
	}
	return engine.Done(), err
}

// cannotGrow tells a StorageClass that does not allow a larger volume from whatever else rejects one, such as a quota.
func (r *run) cannotGrow(ctx context.Context, has resource.Quantity, rejection error) (engine.Outcome, error) {
	class := &storagev1.StorageClass{}
	if name := ptr.Deref(r.claim.Spec.StorageClassName, ""); name != "" {
		if _, err := r.read(ctx, client.ObjectKey{Name: name}, class); err != nil {
			return engine.Outcome{}, err
		}
	}
	if ptr.Deref(class.AllowVolumeExpansion, false) {
		return engine.Lacking(ReasonGrowthRejected, fmt.Sprintf("the volume stays at %s: %v. Remove what rejects a larger one, for instance "+
			"by a larger quota", has.String(), rejection)), nil
	}
	return engine.Lacking(ReasonClassCannotExpand, fmt.Sprintf("the volume stays at %s: %v. An administrator can let the StorageClass allow expansion; "+
		"else copy the data into a Database of a class that allows it", has.String(), rejection)), nil
}

// keepVolume makes the volume of the claim outlive it, and marks it with what it has.
func (r *run) keepVolume(ctx context.Context) error {
	volume, err := r.volume(ctx)
	if err != nil || volume == nil {
		return err
	}
	after := volume.DeepCopy()
	if after.Annotations == nil {
		after.Annotations = map[string]string{}
	}
	after.Annotations[names.AnnotationVolumeOf] = names.OwnerMark(Name, r.Obj)
	if r.Obj.Status.Version != "" {
		after.Annotations[names.AnnotationServer] = serverMark(r.Obj.Spec.Type, r.Obj.Status.Version)
	}
	if was := volume.Spec.PersistentVolumeReclaimPolicy; was != corev1.PersistentVolumeReclaimRetain {
		after.Annotations[names.AnnotationReclaimPolicy] = string(was)
		after.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
	}
	return r.patch(ctx, volume, after)
}

// volume reads the volume of the claim; nil if there is none, or one that is bound to another claim.
func (r *run) volume(ctx context.Context) (*corev1.PersistentVolume, error) {
	if r.claim == nil || r.claim.Spec.VolumeName == "" {
		return nil, nil
	}
	volume := &corev1.PersistentVolume{}
	exists, err := r.read(ctx, client.ObjectKey{Name: r.claim.Spec.VolumeName}, volume)
	if err != nil || !exists || volume.Spec.ClaimRef == nil || volume.Spec.ClaimRef.UID != r.claim.UID {
		return nil, err
	}
	return volume, nil
}

// without are the finalizers but that of the operator.
func without(finalizers []string) []string {
	return slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == names.FinalizerData })
}

// isReleased reports whether a claim is as releaseClaim leaves it.
func isReleased(claim *corev1.PersistentVolumeClaim) bool {
	_, marked := claim.Labels[names.LabelDataUID]
	return !marked && !slices.Contains(claim.Finalizers, names.FinalizerData)
}

// releaseClaim removes the finalizer from the claim, and the mark of this very object.
func (r *run) releaseClaim(ctx context.Context) error {
	after := r.claim.DeepCopy()
	after.Finalizers = without(after.Finalizers)
	delete(after.Labels, names.LabelDataUID)
	return client.IgnoreNotFound(r.patch(ctx, r.claim, after))
}
