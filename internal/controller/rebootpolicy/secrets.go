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

package rebootpolicy

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/external/sqldb"
)

// rememberedSecrets is how many Secrets' contents are remembered; the longest unused goes first.
const rememberedSecrets = 1024

// secretsOf are the Secrets that a RebootPolicy names.
func secretsOf(p *v1alpha1.RebootPolicy) []client.ObjectKey {
	keys := []client.ObjectKey{{Namespace: p.Namespace, Name: p.Spec.Source.CredentialsSecretRef.Name}}
	if tls := p.Spec.Source.TLS; tls != nil && tls.CASecretRef != nil {
		keys = append(keys, client.ObjectKey{Namespace: p.Namespace, Name: tls.CASecretRef.Name})
	}
	return keys
}

// secrets reads Secrets. Their metadata is in the cache; while that is the same, their content is not read again.
type secrets struct {
	cache, live client.Reader

	seen *lru.Cache // client.ObjectKey -> *corev1.Secret
}

func newSecrets(cache, live client.Reader) *secrets {
	return &secrets{cache: cache, live: live, seen: lru.New(rememberedSecrets)}
}

// source is the database of a RebootPolicy with its credentials, or what is wrong with the Secrets.
func (s *secrets) source(ctx context.Context, p *v1alpha1.RebootPolicy) (source sqldb.Source, fault string, err error) {
	from := p.Spec.Source
	source = sqldb.Source{Type: sqldb.Type(from.Type), Host: from.Host, Database: from.Database}
	if port := from.EffectivePort(); port > 0 && port <= 65535 {
		source.Port = uint16(port)
	}
	ref := from.CredentialsSecretRef
	if source.User, fault, err = s.value(ctx, p.Namespace, ref.Name, ref.UsernameKey); fault != "" || err != nil {
		return source, fault, err
	}
	if source.Password, fault, err = s.value(ctx, p.Namespace, ref.Name, ref.PasswordKey); fault != "" || err != nil {
		return source, fault, err
	}
	if from.TLS == nil {
		return source, "", nil
	}
	source.TLS = sqldb.TLS{Disabled: from.TLS.Mode == v1alpha1.TLSDisable, ServerName: from.TLS.ServerName}
	if ca := from.TLS.CASecretRef; ca != nil {
		source.TLS.CA, fault, err = s.value(ctx, p.Namespace, ca.Name, ca.Key)
	}
	return source, fault, err
}

func (s *secrets) value(ctx context.Context, namespace, name, key string) (value, fault string, err error) {
	secret, err := s.get(ctx, client.ObjectKey{Namespace: namespace, Name: name})
	if apierrors.IsNotFound(err) {
		return "", fmt.Sprintf("the Secret %s does not exist", name), nil
	}
	if err != nil {
		return "", "", fmt.Errorf("reading the Secret %s: %w", name, err)
	}
	bytes, ok := secret.Data[key]
	if !ok {
		return "", fmt.Sprintf("the Secret %s has no key %s", name, key), nil
	}
	return string(bytes), "", nil
}

func (s *secrets) get(ctx context.Context, key client.ObjectKey) (*corev1.Secret, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := s.cache.Get(ctx, key, m); err != nil {
		s.seen.Remove(key)
		return nil, err
	}
	if kept, ok := s.seen.Get(key); ok && kept.(*corev1.Secret).ResourceVersion == m.ResourceVersion {
		return kept.(*corev1.Secret), nil
	}
	secret := &corev1.Secret{}
	if err := s.live.Get(ctx, key, secret); err != nil {
		return nil, err
	}
	s.seen.Add(key, secret)
	return secret, nil
}
