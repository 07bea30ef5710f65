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
