// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/names"
)

const (
	// maxCredential is how many bytes a user's name or a password may have.
	maxCredential = 4 << 10
	// maxAuthorities is how many bytes certificate authorities may have.
	maxAuthorities = 64 << 10
	// maxKept is how many bytes of Secrets are remembered before all of them are forgotten.
	maxKept = 8 << 20
	// entrySize is about how many bytes what is kept of a Secret takes beside its texts.
	entrySize = 256
)

// secretsOf are the Secrets that a RebootPolicy names, one of them by its Database.
func secretsOf(p *v1alpha1.RebootPolicy) []client.ObjectKey {
	name := p.Spec.Source.CredentialsSecretRef.Name
	if ref := p.Spec.Source.DatabaseRef; ref != nil {
		name = names.DatabaseName(ref.Name)
	}
	keys := []client.ObjectKey{{Namespace: p.Namespace, Name: name}}
	if tls := p.Spec.Source.TLS; tls != nil && tls.CASecretRef != nil {
		keys = append(keys, client.ObjectKey{Namespace: p.Namespace, Name: tls.CASecretRef.Name})
	}
	return keys
}

// secrets reads Secrets. Their metadata is in the cache; while that is the same, their content is not read again. Of the
// content it keeps what policies need, and no more than maxKept bytes.
type secrets struct {
	cache, live client.Reader

	mu   sync.Mutex
	kept map[client.ObjectKey]content
	size int
}

// content is what is kept of one version of a Secret: its controller, and the values of the keys that were asked for.
type content struct {
	version string
	owner   types.UID
	values  map[string]string
}

// want is a value that a policy needs of a Secret.
type want struct {
	key  string
	most int
}

// problem is why nothing is read: what is wrong with a Secret or a Database.
type problem struct {
	reason, message string
	// passes: it ends without anybody changing anything.
	passes bool
}

func (p problem) outcome() engine.Outcome {
	if p.passes {
		return engine.Wait(0, p.reason, p.message)
	}
	return engine.Block(p.reason, p.message)
}

func newSecrets(cache, live client.Reader) *secrets {
	return &secrets{cache: cache, live: live, kept: map[client.ObjectKey]content{}}
}

// source is the database of a RebootPolicy with its credentials, or what is wrong with the Secrets. The Secret with the
// credentials must have the owner as its controller, unless that is empty.
func (s *secrets) source(ctx context.Context, p *v1alpha1.RebootPolicy, owner types.UID) (sqldb.Source, *problem, error) {
	from := p.Spec.Source
	source := sqldb.Source{Namespace: p.Namespace, Type: sqldb.Type(from.Type), Host: from.Host, Database: from.Database}
	if port := from.EffectivePort(); port > 0 && port <= 65535 {
		source.Port = uint16(port)
	}
	ref := from.CredentialsSecretRef
	login, fault, err := s.values(ctx, p.Namespace, ref.Name, owner, want{ref.UsernameKey, maxCredential}, want{ref.PasswordKey, maxCredential})
	if fault != nil || err != nil {
		return source, fault, err
	}
	source.User, source.Password = login[0], login[1]
	if from.TLS == nil {
		return source, nil, nil
	}
	source.TLS = sqldb.TLS{Disabled: from.TLS.Mode == v1alpha1.TLSDisable, ServerName: from.TLS.ServerName}
	if ca := from.TLS.CASecretRef; ca != nil {
		var authorities []string
		if authorities, fault, err = s.values(ctx, p.Namespace, ca.Name, "", want{ca.Key, maxAuthorities}); fault != nil || err != nil {
			return source, fault, err
		}
		source.TLS.CA = authorities[0]
	}
	return source, nil, nil
}

// values gives what is wanted of a Secret, in that order. Its controller must be the owner, unless that is empty.
func (s *secrets) values(ctx context.Context, namespace, name string, owner types.UID, wanted ...want) ([]string, *problem, error) {
	all, err := s.get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, wanted)
	if apierrors.IsNotFound(err) {
		return nil, missing("the Secret %s does not exist; create it, or name another one in source", name), nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("reading the Secret %s: %w", name, err)
	}
	if owner != "" && all.owner != owner {
		return nil, missing("the Secret %s is not the Database's own", name), nil
	}
	values := make([]string, len(wanted))
	for i, w := range wanted {
		value, ok := all.values[w.key]
		switch {
		case len(validation.IsConfigMapKey(w.key)) > 0:
			return nil, missing("no Secret can have the key that is given for the Secret %s; correct it in source", name), nil
		case !ok:
			return nil, missing("the Secret %s has no key %s; add it, or name another one in source", name, w.key), nil
		case len(value) > w.most:
			return nil, &problem{reason: string(sqldb.Invalid), message: fmt.Sprintf("the key %s of the Secret %s has more than %d KiB; shorten it",
				w.key, name, w.most>>10)}, nil
		}
		values[i] = value
	}
	return values, nil, nil
}

func missing(format string, args ...any) *problem {
	return &problem{reason: ReasonCredentialsMissing, message: fmt.Sprintf(format, args...)}
}

// get gives at least the wanted values of a Secret. Those that are too large are cut to where that can be seen.
func (s *secrets) get(ctx context.Context, key client.ObjectKey, wanted []want) (content, error) {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	if err := s.cache.Get(ctx, key, m); err != nil {
		return content{}, err
	}
	if known, ok := s.recall(key, m.ResourceVersion, wanted); ok {
		return known, nil
	}
	secret := &corev1.Secret{}
	if err := s.live.Get(ctx, key, secret); err != nil {
		return content{}, err
	}
	read := content{version: secret.ResourceVersion, values: map[string]string{}}
	if owner := metav1.GetControllerOfNoCopy(secret); owner != nil {
		read.owner = owner.UID
	}
	for _, w := range wanted {
		if v, ok := secret.Data[w.key]; ok {
			read.values[w.key] = string(v[:min(len(v), w.most+1)])
		}
	}
	s.keep(key, read)
	return read, nil
}

// recall gives what is known of a version of a Secret, when that is all that is wanted.
func (s *secrets) recall(key client.ObjectKey, version string, wanted []want) (content, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, ok := s.kept[key]
	if !ok || known.version != version {
		return content{}, false
	}
	values := map[string]string{}
	for _, w := range wanted {
		if values[w.key], ok = known.values[w.key]; !ok {
			return content{}, false
		}
	}
	known.values = values
	return known, true
}

func (s *secrets) keep(key client.ObjectKey, read content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size > maxKept {
		s.kept, s.size = map[client.ObjectKey]content{}, 0
	}
	known := s.kept[key]
	if known.version != read.version {
		known = content{read.version, read.owner, map[string]string{}}
		s.size += entrySize + len(key.Namespace) + len(key.Name) + len(read.version) + len(read.owner)
	}
	for k, v := range read.values {
		known.values[k] = v
		s.size += len(k) + len(v)
	}
	s.kept[key] = known
}
