// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

// folders makes each volume a folder in root, named after the volume.
type folders struct {
	root string
	node string // name of the node that has root
}

// Provision implements controller.Provisioner.
func (f folders) Provision(_ context.Context, o controller.ProvisionOptions) (*corev1.PersistentVolume, controller.ProvisioningState, error) {
	claim := o.PVC.Spec
	if mode := claim.VolumeMode; mode != nil && *mode == corev1.PersistentVolumeBlock {
		return nil, controller.ProvisioningFinished, errors.New("there are no block volumes here")
	}
	path := f.path(o.PVName)
	err := os.MkdirAll(path, 0o700)
	if err == nil {
		err = os.Chmod(path, 0o777) // MkdirAll would heed the umask
	}
	if err != nil {
		return nil, controller.ProvisioningFinished, fmt.Errorf("making a volume: %w", err)
	}
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: o.PVName},
		Spec: corev1.PersistentVolumeSpec{
			AccessModes:                   claim.AccessModes,
			Capacity:                      corev1.ResourceList{corev1.ResourceStorage: claim.Resources.Requests[corev1.ResourceStorage]},
			PersistentVolumeReclaimPolicy: *o.StorageClass.ReclaimPolicy,
			MountOptions:                  o.StorageClass.MountOptions,
			VolumeMode:                    claim.VolumeMode,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: path}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: []string{f.node},
				}},
			}}}},
		},
	}, controller.ProvisioningFinished, nil
}

// Delete implements controller.Provisioner. It goes by the volume's name: a path that somebody wrote
// into the object is not trusted.
func (f folders) Delete(_ context.Context, volume *corev1.PersistentVolume) error {
	if err := os.RemoveAll(f.path(volume.Name)); err != nil {
		return fmt.Errorf("removing volume %s: %w", volume.Name, err)
	}
	return nil
}

// path is the folder of a volume. The name of an object holds no slash.
func (f folders) path(volume string) string { return filepath.Join(f.root, filepath.Base(volume)) }
