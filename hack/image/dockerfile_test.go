// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTheDockerfileMakesTheSameImage compares what container engines build with what this program does.
func TestTheDockerfileMakesTheSameImage(t *testing.T) {
	text := strings.ReplaceAll(string(mustRead(t, "../../Dockerfile")), "\\\n", "")
	builder, image, found := strings.Cut(text, "\nFROM scratch\n")
	if !found {
		t.Fatal("the image does not begin from scratch")
	}
	for _, line := range []string{
		fmt.Sprintf("COPY --from=builder /manager %s", program),
		fmt.Sprintf("COPY --from=builder /database-agent %s", companions[0]),
		fmt.Sprintf("COPY --from=builder /views %s", companions[1]),
		fmt.Sprintf("COPY --from=builder /sbom-linux-*.spdx.json %s", billPath),
		fmt.Sprintf("USER %s", user),
		fmt.Sprintf("ENTRYPOINT [%q]", program),
	} {
		if !strings.Contains(image, "\n"+line+"\n") {
			t.Errorf("the image lacks the line %s", line)
		}
	}
	if n := strings.Count(image, "\nCOPY "); n != 4 {
		t.Errorf("%d things are copied into the image, want the programs and the list of what they are made of", n)
	}
	written := map[string]string{}
	for _, label := range regexp.MustCompile(`(\S+)="([^"]*)"`).FindAllStringSubmatch(image, -1) {
		written[label[1]] = label[2]
	}
	if want := labels("v${VERSION}"); !maps.Equal(written, want) {
		t.Errorf("labels are %q, want %q", written, want)
	}
	used := strings.Fields(strings.ReplaceAll(builder, `"`, " "))
	for _, variable := range []string{"BUILD", "LDFLAGS"} {
		flags := strings.ReplaceAll(makeVariable(t, variable), "$(VERSION)", "${VERSION}")
		for _, word := range strings.Fields(flags) {
			if !slices.Contains(used, word) {
				t.Errorf("the program is built without %s, which %s in the Makefile has", word, variable)
			}
		}
	}
}

// makeVariable is what the Makefile sets a variable to.
func makeVariable(t *testing.T, name string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` := (.*)$`).FindStringSubmatch(string(mustRead(t, "../../Makefile")))
	if found == nil {
		t.Fatalf("the Makefile does not set %s", name)
	}
	return found[1]
}
