// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package rebootpolicy

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/autoreboot/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/external/sqldb"
	"github.com/acme/platform-operator/internal/restart"
)

// reader is a database.
type reader func(sqldb.Source) (sqldb.Value, error)

// Read implements sqldb.Reader.
func (r reader) Read(_ context.Context, s sqldb.Source, _ sqldb.Watch) (sqldb.Value, error) {
	return r(s)
}

// pollerOf is a poller that wakes nobody up.
func pollerOf(r reader, c clock.PassiveClock) *poller {
	p := newPoller(r, &restart.Readings{}, c)
	p.wake = func(context.Context, client.ObjectKey) {}
	return p
}

func seal(parts ...[]byte) restart.Hash { return restart.KeyOf([]byte("a key"), "uid").Hash(parts...) }

func questionOf(s sqldb.Source) question { return question{source: s, seal: seal} }

// secretStore is an API server with Secrets that all have the same content.
type secretStore struct {
	client.Reader
	data    map[string][]byte
	version string
	owner   types.UID
	reads   int
}

// Get implements client.Reader.
func (s *secretStore) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetResourceVersion(s.version)
	if secret, ok := o.(*corev1.Secret); ok {
		s.reads++
		secret.Data = map[string][]byte{}
		for k, v := range s.data {
			secret.Data[k] = append([]byte(nil), v...)
		}
		if s.owner != "" {
			secret.OwnerReferences = []metav1.OwnerReference{{UID: s.owner, Controller: new(true)}}
		}
	}
	return nil
}

func naming(secret string) *v1alpha1.RebootPolicy {
	p := &v1alpha1.RebootPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	p.Spec.Source = v1alpha1.DatabaseSource{
		Type: v1alpha1.DatabasePostgres, Host: "db", Database: "app",
		CredentialsSecretRef: v1alpha1.CredentialsReference{Name: secret, UsernameKey: "username", PasswordKey: "password"},
		TLS:                  &v1alpha1.SourceTLS{CASecretRef: &v1alpha1.CAReference{Name: secret, Key: "ca.crt"}},
	}
	return p
}

// TestMemory has fifty policies with Secrets and values of the largest sizes.
func TestMemory(t *testing.T) {
	store := &secretStore{version: "1", data: map[string][]byte{
		"username": []byte("app"), "password": []byte("canary"), "ca.crt": []byte(strings.Repeat("c", maxAuthorities)), "ballast": make([]byte, 900<<10),
	}}
	s := newSecrets(store, store)
	p := pollerOf(func(sqldb.Source) (sqldb.Value, error) {
		return sqldb.Value{Kind: sqldb.KindText, Text: strings.Repeat("canary", 150<<10)}, nil
	}, clocktesting.NewFakePassiveClock(time.Now()))
	before := live()
	for i := range 50 {
		source, fault, err := s.source(t.Context(), naming(fmt.Sprintf("secret-%d", i)), "")
		if fault != nil || err != nil {
			t.Fatal(fault, err)
		}
		p.ask(client.ObjectKey{}, types.UID(fmt.Sprint(i)), questionOf(source), time.Minute)
		p.reading.Wait()
	}
	if grown := live() - before; grown > 8<<20 {
		t.Errorf("fifty policies take %d MiB", grown>>20)
	}
	for i := range 50 {
		one, known := p.polls.Get("", types.UID(fmt.Sprint(i)))
		if !known {
			t.Fatal("a policy is forgotten")
		}
		if text := fmt.Sprintf("%+v %+v", *one, *one.answer); strings.Contains(text, "canary") || one.answer.hash == (restart.Hash{}) {
			t.Errorf("it keeps %.200s", text)
		}
	}
	runtime.KeepAlive(s)
}

// TestWhatIsGoneIsForgotten creates and deletes policies that are to be read once a day. What runs keep that end after that is bounded,
// and displaces nothing of another namespace.
func TestWhatIsGoneIsForgotten(t *testing.T) {
	reads := atomic.Int64{}
	p := pollerOf(func(sqldb.Source) (sqldb.Value, error) { reads.Add(1); return sqldb.Value{}, nil }, clocktesting.NewFakePassiveClock(time.Now()))
	k := kind{poller: p, restarter: restart.New(restart.Options{})}
	ask := func(namespace string, uid types.UID) *answer {
		a, _ := p.ask(client.ObjectKey{Namespace: namespace}, uid, questionOf(source), 24*time.Hour)
		p.reading.Wait()
		return a
	}
	kept := func(uid types.UID) bool { _, known := p.polls.Get("flood", uid); return known }
	ask("flood", "gone")
	ask("other", "there")
	if engine.Forgetting(k).Forget(client.ObjectKey{Namespace: "flood"}, "gone"); kept("gone") {
		t.Error("a policy that is gone is remembered")
	}
	n := 0
	for i := range restart.Remembered + 100 {
		ask("flood", types.UID(fmt.Sprint(i)))
	}
	for i := range restart.Remembered + 100 {
		if kept(types.UID(fmt.Sprint(i))) {
			n++
		}
	}
	if n > restart.Remembered {
		t.Errorf("%d policies are remembered", n)
	}
	before := reads.Load()
	if ask("other", "there") == nil || reads.Load() != before {
		t.Error("a policy of another namespace is forgotten")
	}
}

var source = sqldb.Source{Host: "db"}

func live() int64 {
	runtime.GC()
	m := runtime.MemStats{}
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestManySecrets has so many Secrets named that not all of them are remembered.
func TestManySecrets(t *testing.T) {
	store := &secretStore{version: "1", data: map[string][]byte{
		"username": []byte("app"), "password": []byte("p"), "ca.crt": []byte(strings.Repeat("c", maxAuthorities)),
	}}
	s, before := newSecrets(store, store), live()
	for i := range 1000 {
		if _, fault, err := s.source(t.Context(), naming(fmt.Sprintf("secret-%d", i)), ""); fault != nil || err != nil {
			t.Fatal(fault, err)
		}
	}
	if grown := live() - before; grown > 2*maxKept {
		t.Errorf("a thousand Secrets take %d MiB", grown>>20)
	}
	runtime.KeepAlive(s)
}

// TestEmptySecrets has so many Secrets named, without what is wanted of them, that not all of them are remembered.
func TestEmptySecrets(t *testing.T) {
	store := &secretStore{version: "1"}
	s, before := newSecrets(store, store), live()
	for i := range 60_000 {
		if _, fault, err := s.source(t.Context(), naming(fmt.Sprintf("%s-%d", strings.Repeat("s", 240), i)), ""); fault == nil || err != nil {
			t.Fatal(fault, err)
		}
	}
	if grown := live() - before; grown > 2*maxKept {
		t.Errorf("sixty thousand Secrets take %d MiB", grown>>20)
	}
	runtime.KeepAlive(s)
}

func TestSecretsAreReadOnce(t *testing.T) {
	store := &secretStore{version: "1", data: map[string][]byte{"username": []byte("app"), "password": []byte("one"), "ca.crt": []byte("ca")}}
	s := newSecrets(store, store)
	password := func(p *v1alpha1.RebootPolicy) string {
		t.Helper()
		source, fault, err := s.source(t.Context(), p, "")
		if fault != nil || err != nil {
			t.Fatal(fault, err)
		}
		return source.Password
	}
	for range 10 {
		password(naming("db"))
	}
	if store.reads != 2 { // once for the credentials, and once for the authorities
		t.Errorf("it was read %d times", store.reads)
	}
	other := naming("db")
	other.Spec.Source.CredentialsSecretRef.PasswordKey = "ca.crt"
	if got := password(other); got != "ca" {
		t.Errorf("the other policy's password is %q", got)
	}
	store.data["password"], store.version = []byte("two"), "2"
	if got := password(naming("db")); got != "two" {
		t.Errorf("the password is %q", got)
	}
}

func TestSecretsThatCannotBe(t *testing.T) {
	long := func(n int) []byte { return []byte(strings.Repeat("canary", n)) }
	for _, c := range []struct {
		reason string
		data   map[string][]byte
		change func(*v1alpha1.DatabaseSource)
		want   string
	}{
		{"a long user", map[string][]byte{"username": long(1 << 10), "password": nil, "ca.crt": nil}, nil, "SourceInvalid the key username of the Secret db has more than 4 KiB; shorten it"},
		{"a long password", map[string][]byte{"username": nil, "password": long(1 << 10), "ca.crt": nil}, nil, "SourceInvalid the key password of the Secret db has more than 4 KiB; shorten it"},
		{"long authorities", map[string][]byte{"username": nil, "password": nil, "ca.crt": long(1 << 14)}, nil, "SourceInvalid the key ca.crt of the Secret db has more than 64 KiB; shorten it"},
		{"no user", map[string][]byte{"password": nil}, nil, "CredentialsMissing the Secret db has no key username; add it, or name another one in source"},
		{
			"no key",
			map[string][]byte{"username": nil},
			func(s *v1alpha1.DatabaseSource) { s.CredentialsSecretRef.PasswordKey = "canary\nERROR" },
			"CredentialsMissing no Secret can have the key that is given for the Secret db; correct it in source",
		},
	} {
		store := &secretStore{version: "1", data: c.data}
		p := naming("db")
		if c.change != nil {
			c.change(&p.Spec.Source)
		}
		_, fault, err := newSecrets(store, store).source(t.Context(), p, "")
		if err != nil || fault == nil || fault.reason+" "+fault.message != c.want {
			t.Errorf("%s: %+v, %v", c.reason, fault, err)
		}
	}
}

// The controller of a Secret is known with its content, and a change of it is noticed as any other.
func TestWhoseASecretIs(t *testing.T) {
	store := &secretStore{version: "1", data: map[string][]byte{"username": []byte("app"), "password": []byte("one"), "ca.crt": []byte("ca")}}
	s := newSecrets(store, store)
	for _, step := range []struct {
		version       string
		is, wanted    types.UID
		read, foreign bool
	}{
		{"1", "", "", true, false},
		{"1", "", "the-database", false, true},
		{"2", "the-database", "the-database", true, false},
		{"2", "the-database", "the-database", false, false},
		{"2", "the-database", "another", false, true},
		{"2", "the-database", "", false, false},
		{"3", "another", "the-database", true, true},
	} {
		store.version, store.owner = step.version, step.is
		before, p := store.reads, naming("db")
		p.Spec.Source.TLS = nil
		_, fault, err := s.source(t.Context(), p, step.wanted)
		if err != nil || (fault != nil) != step.foreign || (store.reads > before) != step.read {
			t.Errorf("%+v: %+v, %v, after %d reads", step, fault, err, store.reads-before)
		}
	}
}

// TestHanging has a statement hang for a day, and then answer.
func TestHanging(t *testing.T) {
	now := clocktesting.NewFakePassiveClock(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	fault, asked := sqldb.Overdue(), atomic.Int64{}
	p := pollerOf(func(sqldb.Source) (sqldb.Value, error) {
		asked.Add(1)
		if fault != nil {
			return sqldb.Value{}, fault
		}
		return sqldb.Value{}, nil
	}, now)
	pass := func(d time.Duration, database string) int64 {
		was := asked.Load()
		for range d / time.Second {
			p.ask(client.ObjectKey{}, "uid", questionOf(sqldb.Source{Database: database}), 5*time.Second)
			p.reading.Wait()
			now.SetTime(now.Now().Add(time.Second))
		}
		return asked.Load() - was
	}
	if n := pass(time.Hour, "app"); n < 8 || n > 20 {
		t.Errorf("a statement that hangs was asked for %d times in an hour", n)
	}
	if n := pass(time.Hour, "app"); n < 5 || n > 7 {
		t.Errorf("a statement that still hangs was asked for %d times in an hour", n)
	}
	if n := pass(10*time.Second, "another"); n == 0 {
		t.Error("another question waits for the one before")
	}
	fault = nil
	pass(20*time.Minute, "another")
	if n := pass(time.Minute, "another"); n < 11 || n > 13 {
		t.Errorf("a statement that hangs no more was asked for %d times in a minute", n)
	}
	fault = &sqldb.Error{Reason: sqldb.TimedOut, Message: "other policies' statements take too long"}
	if n := pass(time.Minute, "another"); n < 11 || n > 13 {
		t.Errorf("a statement that others hold up was asked for %d times in a minute", n)
	}
}

func TestSlowed(t *testing.T) {
	for _, c := range []struct {
		interval, want time.Duration
		hung           int
	}{
		{5 * time.Second, 5 * time.Second, 0},
		{5 * time.Second, 10 * time.Second, 1},
		{5 * time.Second, 40 * time.Second, 3},
		{5 * time.Second, 10 * time.Minute, 7},
		{5 * time.Second, 10 * time.Minute, 1 << 20},
		{time.Hour, time.Hour, 5},
	} {
		if got := slowed(c.interval, c.hung); got != c.want {
			t.Errorf("%s after %d: %s, want %s", c.interval, c.hung, got, c.want)
		}
	}
}
