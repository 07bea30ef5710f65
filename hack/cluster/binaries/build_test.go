// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeGo puts a go command into PATH that lists two packages to compile, and builds by script with $out set to the value of -o.
func fakeGo(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	body := "#!/bin/sh\n[ $1 = list ] && printf 'a\\nb\\n' && exit\nall=$*\n" +
		"while [ \"$1\" != -o ]; do shift; done\nout=$2\n" + script + "\n"
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

// TestEnsureBuildsTogether expects one run of go build for the programs of a module, and one for each program of ours.
func TestEnsureBuildsTogether(t *testing.T) {
	fakeGo(t, `[ "$out" = "${out%/}" ] && echo "$PWD" > "$out" && exit
		for name in kubectl kube-scheduler; do echo "$CGO_ENABLED $PWD $all" > "$out/$name"; done`)
	builder, out := newBuilder(t)
	wanted := []Binary{kubernetes("kubectl"), kubernetes("kube-scheduler"), Manager("demo"), Plugin("demo")}
	if err := builder.Ensure(t.Context(), wanted); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"kubectl", "kube-scheduler"} {
		data, err := os.ReadFile(filepath.Join(builder.BinDir, name))
		start, end := "0 "+filepath.Join(builder.Root, "tools", "kubernetes")+" build ",
			" k8s.io/kubernetes/cmd/kubectl k8s.io/kubernetes/cmd/kube-scheduler\n"
		if err != nil || !strings.HasPrefix(string(data), start) || !strings.HasSuffix(string(data), end) {
			t.Errorf("%s was built as %q, %v; want %q…%q", name, data, err, start, end)
		}
	}
	for _, name := range []string{"manager", "kubectl-acme"} { // each in a run of its own
		if data, err := os.ReadFile(filepath.Join(builder.BinDir, name)); err != nil || string(data) != builder.Root+"\n" {
			t.Errorf("%s was built in %q, %v; want %s", name, data, err, builder.Root)
		}
	}
	want := "building kubectl v1.36.3 (is missing), kube-scheduler v1.36.3 (is missing), manager (is missing), kubectl-acme (is missing)\n"
	if out.String() != want {
		t.Errorf("progress %q, want %q", out, want)
	}
	if left, _ := filepath.Glob(filepath.Join(builder.BinDir, ".new*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// TestProgress checks what is said where lines cannot be drawn over each other: a line for each tenth.
func TestProgress(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, false)
	var packages []goPackage
	for i := range 200 {
		packages = append(packages, goPackage{fmt.Sprint("p", i), "v1"})
	}
	p.expect(packages)
	p.expect(packages[:50]) // of another program
	stop := p.show()
	linked := 0
	lines := newCompiled(p, packages, func() { linked++ })
	for _, k := range packages {
		if linked > 0 {
			t.Fatalf("it links before %s is compiled", k.path)
		}
		_, _ = lines.Write([]byte(k.path[:1])) // go writes in pieces
		_, _ = lines.Write([]byte(k.path[1:] + "\n"))
	}
	if linked != 1 {
		t.Errorf("it is said %d times that all is compiled", linked)
	}
	if newCompiled(p, packages[:50], func() { linked++ }); linked != 2 {
		t.Error("what another program has compiled is waited for")
	}
	_, _ = lines.Write([]byte("p7\nsyntax error\n"))
	stop(true)
	for _, want := range []string{"200 packages to compile: about ", "\n   10 %  20 of 200 packages, ", " left\n", "\n  100 %  200 of 200 packages, 0s, linking\n", "\n  built after 0s\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	if got := strings.Count(out.String(), "\n"); got != 12 {
		t.Errorf("%d lines instead of 12:\n%s", got, &out)
	}
	if got := lines.words.String(); got != "p7\nsyntax error\n" {
		t.Errorf("of what go writes, %q is kept", got)
	}
}

// TestBuildsTakeTurns expects the second build to begin when the first has compiled its packages, and not to wait for its link.
func TestBuildsTakeTurns(t *testing.T) {
	builder, _ := newBuilder(t)
	second := filepath.Join(builder.Root, "second")
	fakeGo(t, `case $out in
		*/) [ -e `+second+` ] && { echo "the second is early" >&2; exit 1; }
			echo a >&2; echo b >&2; touch "$out/kubectl"
			for i in $(seq 1200); do [ -e `+second+` ] && exit; sleep 0.05; done
			echo "the second waits for the end of the first" >&2; exit 1;;
		*) touch `+second+` "$out";;
		esac`)
	if err := builder.Ensure(t.Context(), []Binary{kubernetes("kubectl"), Manager("demo")}); err != nil {
		t.Error(err)
	}
}

func TestExecutable(t *testing.T) {
	for pkg, want := range map[string]string{"k8s.io/kubernetes/cmd/kubectl": "kubectl", "go.etcd.io/etcd/server/v3": "server"} {
		if got := executable(pkg); got != want {
			t.Errorf("%s gives %s, want %s", pkg, got, want)
		}
	}
}

func TestEnsureReportsAFailedBuild(t *testing.T) {
	fakeGo(t, `echo half > "$out/kubectl"; echo "syntax error" >&2; exit 1`)
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

func TestRecordingFlags(t *testing.T) {
	for flags, want := range map[string]string{
		"": "", "-trimpath": "", "--trimpath=true": "", "-mod=mod -trimpath -p=1": "-mod=mod -p=1", "-tags=trimpath": "-tags=trimpath",
	} {
		if got := recordingFlags(flags); got != want {
			t.Errorf("of %q there is left %q, want %q", flags, got, want)
		}
	}
}
