// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestQuarantine(t *testing.T) {
	today := time.Date(2026, 11, 28, 23, 0, 0, 0, time.UTC)
	file := filepath.Join(t.TempDir(), "quarantine.txt")
	for name, test := range map[string]struct{ text, want string }{
		"empty":        {"# nothing\n\n", ""},
		"until later":  {"2026-12-01 #31 a spec\n", ""},
		"until today":  {"2026-11-28 #31 a spec\n", ""},
		"until before": {"2026-12-01 #31 a spec\n2026-11-27 #32 another spec\n", `the quarantine of "another spec" (#32) has ended`},
		"no date":      {"#31\n31 a spec\n", "is not like"},
		"no issue":     {"2026-12-01 #31\n", "is not like"},
	} {
		t.Run(name, func(t *testing.T) {
			write(t, file, test.text)
			err := quarantine(file, today)
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
	if quarantine(file+".gone", today) == nil {
		t.Error("without its file nothing is in quarantine, and nobody knows")
	}
	if err := quarantine("../../"+quarantineFile, today); err != nil {
		t.Error(err)
	}
}
