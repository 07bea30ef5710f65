// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package settings reads the operator's configuration at the start and watches it for changes. The contents are
// defined in api/config/v1alpha1.
//
// It is read from the file that --config names, else from the optional ConfigMap platform-operator-config in
// the operator's own namespace, else all defaults apply. This package never writes the configuration.
package settings

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	configv1alpha1 "github.com/acme/platform-operator/api/config/v1alpha1"
)

const (
	// ConfigMapName is the name of the optional ConfigMap with the configuration.
	ConfigMapName = "platform-operator-config"
	// ConfigMapKey is the key of that ConfigMap whose value is the configuration in YAML or JSON.
	ConfigMapKey = "config.yaml"

	originDefaults = "defaults"
	// versionBytes of a SHA-256 are enough to distinguish configurations, and short.
	versionBytes = 8
)

// Source is a configuration and where it came from.
type Source struct {
	// Config is the configuration, defaulted and valid.
	Config *configv1alpha1.PlatformOperatorConfig
	// Origin is the place for messages: `file /etc/x.yaml`, `ConfigMap ns/platform-operator-config` or
	// `defaults`.
	Origin string
	// Version is a hash of the effective configuration: equivalent texts have the same version, whatever their
	// origin.
	Version string
}

// Load reads the configuration: from file if that is set, else from the ConfigMap in namespace if that is set
// and the ConfigMap exists, else the defaults. The reader must not be a cache that is not started. An invalid
// configuration is an error with the place and the cause.
func Load(ctx context.Context, reader client.Reader, file, namespace string) (*Source, error) {
	if file != "" {
		return readFile(file).parse()
	}
	if namespace == "" {
		return fromConfigMap(nil).parse()
	}
	key := types.NamespacedName{Namespace: namespace, Name: ConfigMapName}
	configMap := &corev1.ConfigMap{}
	err := reader.Get(ctx, key, configMap)
	if apierrors.IsNotFound(err) {
		return fromConfigMap(nil).parse()
	}
	if err != nil {
		return nil, fmt.Errorf("reading the configuration from ConfigMap %s: %w", key, err)
	}
	return fromConfigMap(configMap).parse()
}

// reading is the content of a place at one moment.
type reading struct {
	origin string
	text   string
	err    error // the text could not be read
	// configMap is the ConfigMap with the text, if any.
	configMap *corev1.ConfigMap
}

// content distinguishes two readings.
func (r reading) content() string {
	if r.err != nil {
		return "error: " + r.err.Error()
	}
	return r.text
}

func readFile(file string) reading {
	text, err := os.ReadFile(file)
	return reading{origin: "file " + file, text: string(text), err: err}
}

// fromConfigMap reads the ConfigMap; nil means that it does not exist.
func fromConfigMap(configMap *corev1.ConfigMap) reading {
	if configMap == nil {
		return reading{origin: originDefaults}
	}
	r := reading{origin: fmt.Sprintf("ConfigMap %s/%s", configMap.Namespace, configMap.Name), configMap: configMap}
	text, found := configMap.Data[ConfigMapKey]
	if !found {
		r.err = fmt.Errorf("it has no key %s: add that key, or delete the ConfigMap to use the defaults", ConfigMapKey)
	}
	r.text = text
	return r
}

func (r reading) parse() (*Source, error) {
	if r.err != nil {
		return nil, fmt.Errorf("reading the configuration from %s: %w", r.origin, r.err)
	}
	config, err := Parse([]byte(r.text))
	if err != nil {
		return nil, fmt.Errorf("reading the configuration from %s: %w", r.origin, err)
	}
	version, err := versionOf(config)
	if err != nil {
		return nil, err
	}
	return &Source{Config: config, Origin: r.origin, Version: version}, nil
}

func versionOf(config *configv1alpha1.PlatformOperatorConfig) (string, error) {
	canonical, err := json.Marshal(config)
	if err != nil {
		return "", fmt.Errorf("computing the version of the configuration: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:versionBytes]), nil
}
