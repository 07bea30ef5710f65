// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "testing"

func TestIsOfVersion(t *testing.T) {
	for said, versions := range map[string]struct{ is, isNot string }{
		"postgres (PostgreSQL) 18.1 (Debian 18.1-1.pgdg13+2)":                                   {"18", "1"},
		"postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)":                                  {"15", "18"},
		"postgres (PostgreSQL) 14":                                                              {"14", "4"},
		"/usr/sbin/mysqld  Ver 8.4.3 for Linux on x86_64 (MySQL Community Server - GPL)":        {"8.4", "8.0"},
		"mysqld  Ver 8.0.40 for Linux on aarch64 (MySQL Community Server - GPL)":                {"8.0", "8.4"},
		"mariadbd  Ver 10.11.14-MariaDB-0+deb12u2 for debian-linux-gnu on x86_64 (Debian 12)":   {"10.11", "8.4"},
		"mysqld  Ver 8.40.1 for Linux on x86_64 (a version whose text begins with another one)": {"8.40", "8.4"},
	} {
		if !IsOfVersion(said, versions.is) || IsOfVersion(said, versions.isNot) {
			t.Errorf("%s: it is of version %s: %t; of version %s: %t", said, versions.is, IsOfVersion(said, versions.is),
				versions.isNot, IsOfVersion(said, versions.isNot))
		}
	}
	if IsOfVersion("", "8") || IsOfVersion("usage: mysqld 8", "8") {
		t.Error("a text without a version has one")
	}
}
