/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// fieldManager is kubectl's own, so that `make install` and a reader who applies a changed manifest
	// go on where the demo ended, without a conflict.
	fieldManager = client.FieldOwner("kubectl")
	// namePrefix is the one that the kustomizations put before names.
	namePrefix   = "platform-operator-"
	crdKind      = "CustomResourceDefinition"
	pollInterval = 100 * time.Millisecond
)

// install applies what an operator outside the cluster needs, and waits until its kinds are served.
// kubectl, which the cluster brought along, has kustomize built in.
func (s *session) install(ctx context.Context) error {
	return s.step("CRDs, roles, policies", "installing", func() (string, error) {
		cmd := exec.CommandContext(ctx, filepath.Join(s.binDir(), "kubectl"), "kustomize", filepath.Join(s.root, "config", "install"))
		manifests, err := cmd.Output()
		if exit := (&exec.ExitError{}); errors.As(err, &exit) {
			return "", fmt.Errorf("building config/install: %w: %s", err, exit.Stderr)
		} else if err != nil {
			return "", fmt.Errorf("building config/install: %w", err)
		}
		objects, err := decode(manifests)
		if err != nil {
			return "", fmt.Errorf("reading config/install: %w", err)
		}
		for _, o := range objects {
			if err := apply(ctx, s.admin, o); err != nil {
				return "", err
			}
		}
		for _, o := range objects {
			if o.GetKind() == crdKind {
				if err := s.awaitServed(ctx, o.GetName()); err != nil {
					return "", err
				}
			}
		}
		return fmt.Sprintf("%d objects in place", len(objects)), nil
	})
}

// decode reads the documents of a manifest.
func decode(manifest []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return objects, nil
		case err != nil:
			return nil, err
		case len(o.Object) > 0:
			objects = append(objects, o)
		}
	}
}

// apply applies an object server-side.
func apply(ctx context.Context, c client.Client, o *unstructured.Unstructured) error {
	err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(o.DeepCopy()), fieldManager, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("applying %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

func newCRD() *unstructured.Unstructured {
	crd := &unstructured.Unstructured{}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind(crdKind)
	return crd
}

// awaitServed waits until the API server serves a custom resource.
func (s *session) awaitServed(ctx context.Context, crd string) error {
	live := newCRD()
	err := wait.PollUntilContextTimeout(ctx, pollInterval, s.timeout, true, func(ctx context.Context) (bool, error) {
		if err := s.admin.Get(ctx, client.ObjectKey{Name: crd}, live); err != nil {
			return false, err
		}
		c, found := condition(live, "Established")
		return found && c["status"] == "True", nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to be served: %w", crd, err)
	}
	return nil
}

// installWebhooks tells the API server where the webhooks of the process are.
func (s *session) installWebhooks(ctx context.Context) error {
	manifests, err := os.ReadFile(filepath.Join(s.root, "config", "webhook", "manifests.yaml"))
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(filepath.Join(s.certDir(), "ca.crt"))
	if err != nil {
		return err
	}
	address := net.JoinHostPort(loopback, strconv.Itoa(s.ports.Webhooks))
	objects, err := webhookConfigurations(manifests, "https://"+address, ca)
	if err != nil {
		return fmt.Errorf("reading config/webhook/manifests.yaml: %w", err)
	}
	return s.step("webhooks", "installing", func() (string, error) {
		for _, o := range objects {
			if err := apply(ctx, s.admin, o); err != nil {
				return "", err
			}
		}
		return "on " + address, nil
	})
}

// webhookConfigurations turns the generated webhook configurations, which name a Service, into ones for
// a process at address (https://HOST:PORT) whose certificate ca (PEM) has signed. Names get the prefix
// that they have in a deployment.
func webhookConfigurations(manifests []byte, address string, ca []byte) ([]*unstructured.Unstructured, error) {
	objects, err := decode(manifests)
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		o.SetName(namePrefix + o.GetName())
		webhooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", o.GetKind(), o.GetName(), err)
		}
		for i := range webhooks {
			webhook, _ := webhooks[i].(map[string]any)
			path, found, err := unstructured.NestedString(webhook, "clientConfig", "service", "path")
			if err != nil || !found {
				return nil, fmt.Errorf("%s %s: webhook %d names no path of a Service", o.GetKind(), o.GetName(), i)
			}
			webhook["clientConfig"] = map[string]any{
				"url": address + path, "caBundle": base64.StdEncoding.EncodeToString(ca),
			}
		}
		if err := unstructured.SetNestedSlice(o.Object, webhooks, "webhooks"); err != nil {
			return nil, err
		}
	}
	return objects, nil
}

// condition finds a condition in the status of an object.
func condition(o *unstructured.Unstructured, kind string) (map[string]any, bool) {
	list, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return nil, false
	}
	for _, each := range list {
		if c, ok := each.(map[string]any); ok && c["type"] == kind {
			return c, true
		}
	}
	return nil, false
}

// notYet tells whether an error may pass by itself: the kind or the namespace is not there yet.
func notYet(err error) bool { return apierrors.IsNotFound(err) || isNoMatch(err) }
