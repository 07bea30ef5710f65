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
	"crypto/x509"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestBareImage shows that the program brings what an image with nothing else in it lacks.
func TestBareImage(t *testing.T) {
	const inside = "TEST_IN_BARE_IMAGE"
	if os.Getenv(inside) == "" {
		nowhere := t.TempDir()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+t.Name()+"$")
		cmd.Env = []string{inside + "=yes", "SSL_CERT_FILE=" + nowhere + "/none", "SSL_CERT_DIR=" + nowhere, "ZONEINFO=" + nowhere}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		t.Fatal(err)
	}
	if pool.Equal(x509.NewCertPool()) {
		t.Error("there are no public certificate authorities")
	}
	if _, err := time.LoadLocation("Europe/Berlin"); err != nil {
		t.Error(err)
	}
}
