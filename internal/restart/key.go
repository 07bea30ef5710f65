// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package restart

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/acme/platform-operator/internal/names"
)

const (
	// keySecret is the name of the Secret in the operator's namespace that holds the key.
	keySecret = names.Operator + "-restart-key"
	// keyName is the key's key.
	keyName = "key"
	// keySize is what HMAC-SHA-256 makes the most of.
	keySize = 32
)

// Key makes the hashes of one object: nobody can guess the content of a Secret from them, nor tell from
// the hashes of two objects that their contents are equal.
type Key struct{ object, root secret }

type secret []byte

// Hash is the keyed hash of a list of parts: as it is recorded, and as version 0.1.0 recorded it.
type Hash struct{ now, old string }

// legacyHash is the length of hashes that version 0.1.0 made, with one key for all objects.
const legacyHash = 32

// KeyOf derives the key of one object from the root of all keys.
func KeyOf(root []byte, uid types.UID) Key {
	return Key{secret(root).sum([]byte("the key of an object"), []byte(uid)), root}
}

// sum is the HMAC of a list of parts. Each part counts with its length, so that no two lists read the same.
func (s secret) sum(parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, s)
	for _, p := range parts {
		_ = binary.Write(mac, binary.BigEndian, uint64(len(p))) // a hash takes everything
		_, _ = mac.Write(p)
	}
	return mac.Sum(nil)
}

// legacy is the hash as version 0.1.0 made it.
func (s secret) legacy(parts ...[]byte) string {
	return hex.EncodeToString(s.sum(parts...)[:legacyHash/2])
}

// Hash is the keyed hash of a list of parts.
func (k Key) Hash(parts ...[]byte) Hash { return Hash{k.text(parts...), k.root.legacy(parts...)} }

// Short is a hash that is only compared with an earlier one of the same key.
func (k Key) Short(parts ...[]byte) Hash {
	h := k.Hash(parts...)
	return Hash{strings.Clone(h.now[:16]), strings.Clone(h.old[:16])}
}

func (k Key) text(parts ...[]byte) string { return hex.EncodeToString(k.object.sum(parts...)[:20]) }

// ID identifies the key that those of all objects are derived from, as in version 0.1.0, and says nothing about it.
func (k Key) ID() string { return k.root.legacy([]byte("the identity of this key"))[:8] }

// keyring keeps the key once it was read.
type keyring struct {
	mu  sync.Mutex
	key secret
}

func (k *keyring) get(ctx context.Context, o Options) (secret, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return k.key, nil
	}
	key, err := readKey(ctx, o)
	if apierrors.IsNotFound(err) {
		key, err = makeKey(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the key of the hashes: %w", err)
	}
	k.key = key
	return key, nil
}

func readKey(ctx context.Context, o Options) (secret, error) {
	s := &corev1.Secret{}
	if err := o.Live.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: keySecret}, s); err != nil {
		return nil, err
	}
	if len(s.Data[keyName]) < keySize {
		return nil, fmt.Errorf("the Secret %s/%s has no key %q of at least %d bytes; delete it, and a new one is made without any restart",
			o.Namespace, keySecret, keyName, keySize)
	}
	return s.Data[keyName], nil
}

// makeKey makes the key. Of several that try, one succeeds, and the others read what it made.
func makeKey(ctx context.Context, o Options) (secret, error) {
	random := make([]byte, keySize)
	if _, err := rand.Read(random); err != nil {
		return nil, err
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: keySecret,
			Labels: map[string]string{names.LabelManagedBy: names.Operator},
		},
		Immutable: new(true),
		Data:      map[string][]byte{keyName: random},
	}
	// To wait for its own write, the client would have to watch, and to keep, every Secret of the cluster.
	err := o.Client.Create(ctx, s, client.FieldOwner(fieldManager), client.DisableReadYourWritesConsistency)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return nil, err
	}
	return readKey(ctx, o)
}
