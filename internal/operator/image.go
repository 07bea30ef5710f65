// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"
	"os"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// managerContainer is the container of the operator in its pod.
const managerContainer = "manager"

// ownImage returns the image that is configured or, if none is, that of the operator's own pod, whose name is the name of the host.
// It is empty if the operator does not run in a pod. It is determined once: a pod's image does not change.
func ownImage(configured, namespace string, live client.Reader) func(context.Context) (string, error) {
	var mu sync.Mutex
	image := configured
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if image != "" {
			return image, nil
		}
		name, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("reading the name of the host: %w", err)
		}
		pod := &corev1.Pod{}
		if err := live.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, pod); err != nil {
			return "", client.IgnoreNotFound(err)
		}
		for _, c := range pod.Spec.Containers {
			if c.Name == managerContainer {
				image = c.Image
			}
		}
		return image, nil
	}
}
