// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func selectedNames(t *testing.T, only string) []string {
	t.Helper()
	selected, err := Select(only)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, b := range selected {
		list = append(list, b.Name)
	}
	return list
}

func TestSelect(t *testing.T) {
	for only, want := range map[string][]string{
		"":                     {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd", "kwok"},
		"envtest":              {"kube-apiserver", "kube-controller-manager", "kubectl", "etcd"},
		"simulated":            {"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "etcd", "kwok"},
		"kwok,etcd":            {"etcd", "kwok"},
		"image-push,kubelet":   {"kubelet", "image-push"},
		"kwok,envtest,kubectl": {"kube-apiserver", "kube-controller-manager", "kubectl", "etcd", "kwok"},
	} {
		if diff := cmp.Diff(want, selectedNames(t, only)); diff != "" {
			t.Errorf("Select(%q) (-want +got):\n%s", only, diff)
		}
	}
	forNode := selectedNames(t, "real")
	if !slices.Contains(forNode, "kubelet") || slices.Contains(forNode, "kwok") || slices.Contains(forNode, "containerd") {
		t.Errorf("a real node needs a kubelet and no kwok, and containerd is a package; got %v", forNode)
	}
	if forOLM := selectedNames(t, "olm"); !slices.Contains(forOLM, "catalog") || slices.Contains(forOLM, "kubelet") {
		t.Errorf("OLM is its own programs and no node's; got %v", forOLM)
	}
	if _, err := Select("etcd,nonsense"); err == nil || !strings.Contains(err.Error(), `"nonsense"`) {
		t.Errorf("an unknown name must be named in the error, got %v", err)
	}
}

// TestKwokSharesVersions expects kwok to be made of the versions that Kubernetes has, so that these are compiled once.
func TestKwokSharesVersions(t *testing.T) {
	kubernetes, err := readPins("../../..", kubernetesDir)
	if err != nil {
		t.Fatal(err)
	}
	kwok, err := readPins("../../..", "tools/kwok")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{
		"golang.org/x/net", "golang.org/x/sys", "google.golang.org/grpc", "google.golang.org/protobuf", "go.opentelemetry.io/otel",
		"k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go", "k8s.io/component-base", "sigs.k8s.io/structured-merge-diff/v6",
	} {
		if got, want := kwok[path], kubernetes[path]; got != want || got.Version == "" {
			t.Errorf("tools/kwok has %v, and tools/kubernetes %v: replace it there", got, want)
		}
	}
}

func TestKubernetesFlagsCarryTheVersion(t *testing.T) {
	const v = " -X k8s.io/component-base/version."
	want := "-s -w" + v + "gitVersion=v1.36.3" + v + "gitMajor=1" + v + "gitMinor=36"
	if got := kubernetesFlags("v1.36.3"); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

const exampleMod = `module example.com/tools/kubernetes

go 1.26.0

require (
	k8s.io/kubernetes v1.36.3
	k8s.io/api v0.0.0
	example.com/lib v1.2.3 // indirect
	example.com/other v1.0.0
)

replace k8s.io/api => k8s.io/api v0.36.3

replace example.com/other v0.9.0 => example.com/fork v0.9.1
`

func examplePins(t *testing.T) (string, pins) {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, "tools", "kubernetes")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(exampleMod), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := readPins(root, "tools/kubernetes")
	if err != nil {
		t.Fatal(err)
	}
	return root, p
}

func TestPinsFollowReplacements(t *testing.T) {
	root, p := examplePins(t)
	got := map[string]string{}
	for path, m := range p {
		got[path] = m.String()
	}
	delete(got, "example.com/tools/kubernetes") // the module itself; see TestOwnProgramsFollowTheirSources
	want := map[string]string{
		"k8s.io/kubernetes": "k8s.io/kubernetes@v1.36.3",
		"k8s.io/api":        "k8s.io/api@v0.36.3",
		"example.com/lib":   "example.com/lib@v1.2.3",
		"example.com/other": "example.com/other@v1.0.0", // the replacement is for another version
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pins (-want +got):\n%s", diff)
	}
	if v, err := KubernetesVersion(root); err != nil || v != "v1.36.3" {
		t.Errorf("KubernetesVersion: %q, %v; want v1.36.3", v, err)
	}
}

func freshBuild() *debug.BuildInfo {
	return &debug.BuildInfo{
		Path: "k8s.io/kubernetes/cmd/kubectl",
		Main: debug.Module{Path: "k8s.io/kubernetes", Version: "v1.36.3"},
		Deps: []*debug.Module{
			{Path: "example.com/lib", Version: "v1.2.3"},
			{Path: "k8s.io/api", Version: "v0.0.0", Replace: &debug.Module{Path: "k8s.io/api", Version: "v0.36.3"}},
		},
		Settings: []debug.BuildSetting{
			{Key: "CGO_ENABLED", Value: "0"}, {Key: "-ldflags", Value: kubernetesFlags("v1.36.3")},
		},
	}
}

func TestStaleReason(t *testing.T) {
	_, p := examplePins(t)
	for name, test := range map[string]struct {
		change func(*debug.BuildInfo)
		want   string
	}{
		"fresh":               {func(*debug.BuildInfo) {}, ""},
		"another program":     {func(i *debug.BuildInfo) { i.Path = "example.com/x" }, "is another program"},
		"older version":       {func(i *debug.BuildInfo) { i.Main.Version = "v1.36.2" }, "is v1.36.2"},
		"older dependency":    {func(i *debug.BuildInfo) { i.Deps[0].Version = "v1.2.2" }, "has another example.com/lib"},
		"older replacement":   {func(i *debug.BuildInfo) { i.Deps[1].Replace.Version = "v0.36.2" }, "has another k8s.io/api"},
		"replacement is gone": {func(i *debug.BuildInfo) { i.Deps[1].Replace = nil }, "has another k8s.io/api"},
		"dependency is gone":  {func(i *debug.BuildInfo) { i.Deps[0].Path = "example.com/gone" }, "has another example.com/gone"},
		"other linker flags":  {func(i *debug.BuildInfo) { i.Settings = i.Settings[:1] }, "was built with another -ldflags"},
		"other tags": {func(i *debug.BuildInfo) {
			i.Settings = append(i.Settings, debug.BuildSetting{Key: "-tags", Value: "special"})
		}, "was built with another -tags"},
		"linked to the C libs": {func(i *debug.BuildInfo) { i.Settings[0].Value = "1" }, "was built with another CGO_ENABLED"},
	} {
		t.Run(name, func(t *testing.T) {
			built := freshBuild()
			test.change(built)
			if got := staleReason(kubernetes("kubectl"), p, built); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// TestOwnProgramsFollowTheirSources expects that a program of our own is built again when a source
// file changes, and only then.
func TestOwnProgramsFollowTheirSources(t *testing.T) {
	for _, program := range append(CertManager(), own("node-init")) {
		t.Run(program.Name, func(t *testing.T) { checkFollowsSources(t, program) })
	}
}

func checkFollowsSources(t *testing.T, program Binary) {
	root := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(root, program.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pinned := func() pins {
		t.Helper()
		p, err := readPins(root, program.dir)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	goMod := "module " + program.module + "\n\ngo 1.26.0\n"
	write("go.mod", goMod)
	write("folder/main.go", "package main\n")
	built := &debug.BuildInfo{
		Path: program.pkg,
		Main: debug.Module{Path: program.module, Version: "(devel)"},
		Settings: []debug.BuildSetting{
			{Key: "CGO_ENABLED", Value: "0"}, {Key: "-ldflags", Value: program.ldflags(pinned()[program.module].Version)},
		},
	}
	for _, step := range []struct{ reason, file, content, want string }{
		{"nothing changed", "go.mod", goMod, ""},
		{"a test", "folder/main_test.go", "package main\n", ""},
		{"a source file", "folder/main.go", "package main\n\nfunc main() {}\n", "was built with another -ldflags"},
		{"changed back", "folder/main.go", "package main\n", ""},
		{"a new file", "folder/more.go", "package main\n", "was built with another -ldflags"},
	} {
		write(step.file, step.content)
		if got := staleReason(program, pinned(), built); got != step.want {
			t.Errorf("%s: got %q, want %q", step.reason, got, step.want)
		}
	}
}
