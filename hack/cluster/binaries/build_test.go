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

package binaries

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fakeGo puts a go command into PATH that runs script with $out set to the value of -o.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	body := "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nout=$2\n" + script + "\n"
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(body), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func newBuilder(t *testing.T) (Builder, *bytes.Buffer) {
	t.Helper()
	root, _ := examplePins(t)
	out := &bytes.Buffer{}
	return Builder{Root: root, BinDir: filepath.Join(root, "bin"), Out: out}, out
}

func TestEnsureBuildsWhatIsMissingAndSaysSo(t *testing.T) {
	fakeGo(t, `echo "$CGO_ENABLED $PWD" > "$out"`)
	builder, out := newBuilder(t)
	if err := builder.Ensure(context.Background(), []Binary{kubernetes("kubectl")}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(builder.BinDir, "kubectl"))
	if want := "0 " + filepath.Join(builder.Root, "tools", "kubernetes") + "\n"; err != nil || string(data) != want {
		t.Errorf("built %q, %v; want %q", data, err, want)
	}
	want := regexp.MustCompile(`^\[1/1\] building kubectl v1\.36\.3 \(is missing\) …\n\[1/1\] built kubectl v1\.36\.3 in \d+s\n$`)
	if !want.MatchString(out.String()) {
		t.Errorf("progress %q does not match %s", out, want)
	}
}

func TestEnsureReportsAFailedBuild(t *testing.T) {
	fakeGo(t, `echo half > "$out"; echo "syntax error" >&2; exit 1`)
	builder, _ := newBuilder(t)
	err := builder.Ensure(context.Background(), []Binary{kubernetes("kubectl")})
	if err == nil || !strings.Contains(err.Error(), "building kubectl") || !strings.Contains(err.Error(), "syntax error") {
		t.Errorf("the error must name the binary and the compiler's words, got %v", err)
	}
	if left, _ := os.ReadDir(builder.BinDir); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestEnsureRefusesAToolThatPinsNothing(t *testing.T) {
	builder, _ := newBuilder(t)
	unpinned := Binary{Name: "x", dir: "tools/kubernetes", pkg: "example.com/x", module: "example.com/x", ldflags: plain}
	if err := builder.Ensure(context.Background(), []Binary{unpinned}); err == nil {
		t.Error("want an error")
	}
}
