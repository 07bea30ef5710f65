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

package rollout

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// Key makes hashes that say nothing about the content to whoever does not have it: the content of a
// Secret may be easy to guess, and a hash in a pod template is seen by many.
type Key struct{ secret []byte }

// Hash is the keyed hash of a list of parts. Each part counts with its length, so that no two lists read
// the same.
func (k Key) Hash(parts ...[]byte) string {
	mac := hmac.New(sha256.New, k.secret)
	for _, p := range parts {
		_ = binary.Write(mac, binary.BigEndian, uint64(len(p))) // a hash takes everything
		_, _ = mac.Write(p)
	}
	return hex.EncodeToString(mac.Sum(nil)[:16])
}

// ID tells keys apart and says nothing about them.
func (k Key) ID() string { return k.Hash([]byte("the identity of this key"))[:8] }

// keyring keeps the key once it was read.
type keyring struct {
	mu  sync.Mutex
	key *Key
}

func (k *keyring) get(ctx context.Context, o Options) (Key, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.key != nil {
		return *k.key, nil
	}
	key, err := readKey(ctx, o)
	if apierrors.IsNotFound(err) {
		key, err = makeKey(ctx, o)
	}
	if err != nil {
		return Key{}, fmt.Errorf("reading the key of the hashes: %w", err)
	}
	k.key = &key
	return key, nil
}

func readKey(ctx context.Context, o Options) (Key, error) {
	s := &corev1.Secret{}
	if err := o.Live.Get(ctx, client.ObjectKey{Namespace: o.Namespace, Name: keySecret}, s); err != nil {
		return Key{}, err
	}
	if len(s.Data[keyName]) < keySize {
		return Key{}, fmt.Errorf("the Secret %s/%s has no key %q of at least %d bytes; delete it, and a new one is made without any restart",
			o.Namespace, keySecret, keyName, keySize)
	}
	return Key{s.Data[keyName]}, nil
}

// makeKey makes the key. Of several that try, one succeeds, and the others read what it made.
func makeKey(ctx context.Context, o Options) (Key, error) {
	secret := make([]byte, keySize)
	if _, err := rand.Read(secret); err != nil {
		return Key{}, err
	}
	s := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: o.Namespace, Name: keySecret,
			Labels: map[string]string{names.LabelManagedBy: names.Operator},
		},
		Immutable: new(true),
		Data:      map[string][]byte{keyName: secret},
	}
	// To wait for its own write, the client would have to watch, and to keep, every Secret of the cluster.
	err := o.Client.Create(ctx, s, client.FieldOwner(names.FieldManager("rollout")), client.DisableReadYourWritesConsistency)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return Key{}, err
	}
	return readKey(ctx, o)
}
