// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package alerts

import (
	"os"
	"path"
	"strings"
	"testing"
)

// TestRunbooks wants a page for each alert and an alert for each page.
func TestRunbooks(t *testing.T) {
	wanted := map[string]bool{"README.md": true}
	for name, rule := range newPrometheus(t, well).alerting(t) {
		for _, l := range []string{"summary", "description", "runbook"} {
			if rule.Annotations().Get(l) == "" {
				t.Errorf("%s has no annotation %s", name, l)
			}
		}
		if s := rule.Labels().Get("severity"); s != "critical" && s != "warning" && s != "info" {
			t.Errorf("%s has the severity %q", name, s)
		}
		page := rule.Annotations().Get("runbook")
		wanted[path.Base(page)] = true
		text, err := os.ReadFile(root + "/" + page)
		if err != nil {
			t.Errorf("%s has no page: %v", name, err)
			continue
		}
		for _, part := range []string{"# " + name + "\n", "\n## Meaning\n", "\n## Impact\n", "\n## Diagnosis\n", "\n## Mend\n"} {
			if !strings.Contains(string(text), part) {
				t.Errorf("%s has no %q", page, strings.TrimSpace(part))
			}
		}
	}
	files, err := os.ReadDir(pages)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !wanted[f.Name()] {
			t.Errorf("%s is of no alert", f.Name())
		}
	}
}
