// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package ldaptest_test

import (
	"context"
	"testing"

	"github.com/onsi/ginkgo/v2"

	"github.com/acme/platform-operator/internal/external/identity/ldap"
	"github.com/acme/platform-operator/internal/external/identity/ldaptest"
)

// The server is for Ginkgo's suites too.
var _ ldaptest.TB = ginkgo.FullGinkgoTInterface(nil)

func TestServer(t *testing.T) {
	s := ldaptest.Start(t)
	d, err := ldap.New(ldap.Options{
		URL: s.LDAPS, RootCAs: s.CA, BaseDN: s.BaseDN,
		Credentials: func(context.Context) (ldap.Credentials, error) {
			return ldap.Credentials{BindDN: s.BindDN, Password: s.Password}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []bool{false, true} {
		if got, err := d.Lookup(t.Context(), "sam"); err != nil || got != want {
			t.Fatalf("Lookup = %v, %v; want %v, nil", got, err, want)
		}
		if !want {
			s.AddUser("sam")
		}
	}
	s.Stop()
	s.Stop() // the end of the test will stop it once more
	if _, err := d.Lookup(t.Context(), "sam"); err == nil {
		t.Error("the server answers after Stop")
	}
}
