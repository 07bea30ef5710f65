// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"debug/buildinfo"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/validate"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
)

const tag = "platform-operator:v1.2.3"

// compile builds a Go program for the platform and returns its path.
func compile(t *testing.T, goos, goarch string, flags ...string) string {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() { println(\"hello\") }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(dir, "program")
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-trimpath", "-o", binary}, flags...), source)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("compiling: %v\n%s", err, output)
	}
	for _, companion := range companionsOf(binary) {
		if err := os.WriteFile(companion, mustRead(t, binary), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return binary
}

func mustBuild(t *testing.T, binary string) v1.Image {
	t.Helper()
	image, err := build(binary, "v1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return image
}

func digestOf(t *testing.T, image v1.Image) string {
	t.Helper()
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest.String()
}

func TestSameBinaryGivesTheSameDigest(t *testing.T) {
	binary := compile(t, "linux", runtime.GOARCH)
	first := digestOf(t, mustBuild(t, binary))
	past := time.Now().Add(-48 * time.Hour)
	if err := errors.Join(os.Chtimes(binary, past, past), os.Chmod(binary, 0o700)); err != nil {
		t.Fatal(err)
	}
	if second := digestOf(t, mustBuild(t, binary)); second != first {
		t.Errorf("the file's time or mode changed the digest from %s to %s", first, second)
	}
	if err := os.WriteFile(binary, append(mustRead(t, binary), 0), 0o700); err != nil {
		t.Fatal(err)
	}
	if other := digestOf(t, mustBuild(t, binary)); other == first {
		t.Error("another binary has the same digest")
	}
}

func TestConfiguration(t *testing.T) {
	config, err := mustBuild(t, compile(t, "linux", "arm64")).ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.OS != "linux" || config.Architecture != "arm64" {
		t.Errorf("platform is %s/%s, want linux/arm64", config.OS, config.Architecture)
	}
	if got := config.Config.Entrypoint; len(got) != 1 || got[0] != "/manager" {
		t.Errorf("entrypoint is %q, want /manager", got)
	}
	if got := config.Config.User; got != "65532:65532" {
		t.Errorf("user is %q, want the number of nonroot", got)
	}
	if got := config.Config.Labels[labelPrefix+"version"]; got != "v1.2.3" {
		t.Errorf("version label is %q, want v1.2.3", got)
	}
	if !config.Created.IsZero() {
		t.Errorf("the image records the time %s", config.Created)
	}
}

// files are what is in the layers of an image, in their order.
func files(t *testing.T, image v1.Image) map[string]*tar.Header {
	t.Helper()
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]*tar.Header{}
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		archive := tar.NewReader(content)
		for header, err := archive.Next(); !errors.Is(err, io.EOF); header, err = archive.Next() {
			if err != nil {
				t.Fatal(err)
			}
			found[header.Name] = header
		}
	}
	return found
}

func TestTheBinariesAndWhatTheyAreMadeOfIsAllThatIsInside(t *testing.T) {
	binary := compile(t, "linux", runtime.GOARCH)
	held := files(t, mustBuild(t, binary))
	for name, mode := range map[string]int64{"manager": 0o755, "database-agent": 0o755, "views": 0o755, "sbom/platform-operator.spdx.json": 0o644} {
		if header := held[name]; header == nil || header.Mode != mode || header.Uid != 0 {
			t.Errorf("%s is %+v, want mode %o of root", name, header, mode)
		}
		delete(held, name)
	}
	if len(held) > 0 {
		t.Errorf("there is more: %v", held)
	}
}

func TestTheListNamesWhatTheBinaryIsMadeOf(t *testing.T) {
	self, err := os.Executable() // this test's own binary has modules in it
	if err != nil {
		t.Fatal(err)
	}
	text, err := bill("v1.2.3", self)
	if err != nil {
		t.Fatal(err)
	}
	document, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("it is no SPDX document: %v\n%s", err, text)
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Errorf("it is not valid: %v", err)
	}
	versions := map[string]string{}
	for _, p := range document.Packages {
		versions[p.PackageName] = p.PackageVersion
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if len(versions) != len(info.Deps)+2 || len(info.Deps) == 0 {
		t.Errorf("it lists %d packages, want the program, the standard library and %d modules", len(versions), len(info.Deps))
	}
	for _, module := range info.Deps {
		if versions[module.Path] != module.Version {
			t.Errorf("%s is listed with version %q, want %s", module.Path, versions[module.Path], module.Version)
		}
	}
	if "go"+versions["stdlib"] != info.GoVersion {
		t.Errorf("the standard library is listed as %q, want %s", versions["stdlib"], info.GoVersion)
	}
	if again, err := bill("v1.2.3", self); err != nil || !bytes.Equal(text, again) {
		t.Errorf("the same binary gave another list (%v)", err)
	}
}

func TestWhatWouldNotStartIsRefused(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ reason, binary, want string }{
		{"a script", script, "no Go program"},
		{"dynamic linking", compile(t, "linux", runtime.GOARCH, "-buildmode=pie"), "linked dynamically"},
		{"another operating system", compile(t, "darwin", "arm64"), "for darwin, not for linux"},
		{"no file", filepath.Join(t.TempDir(), "missing"), "no such file"},
	} {
		_, err := build(test.binary, "v1.2.3")
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want one with %q", test.reason, err, test.want)
		}
	}
}

// newOrder asks for an image of two platforms.
func newOrder(t *testing.T) order {
	t.Helper()
	dir := t.TempDir()
	return order{
		binaries: []string{compile(t, "linux", "amd64"), compile(t, "linux", "arm64")}, tag: tag, version: "v1.2.3",
		layout: filepath.Join(dir, "layout"), archive: filepath.Join(dir, "out", "image.tar"), sbom: filepath.Join(dir, "sbom"),
	}
}

func TestBothFormsHoldTheImage(t *testing.T) {
	o := newOrder(t)
	for range 2 { // the second run replaces what the first one wrote
		if err := o.make(); err != nil {
			t.Fatal(err)
		}
	}
	index, err := readLayout(o.layout)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("the layout is not valid: %v", err)
	}
	manifest, err := index.IndexManifest()
	if err != nil || len(manifest.Manifests) != 2 {
		t.Fatalf("the index holds %d images (error %v), want 2", len(manifest.Manifests), err)
	}
	if manifest.Annotations[labelPrefix+"version"] != "v1.2.3" {
		t.Errorf("the index has the annotations %v", manifest.Annotations)
	}
	for i, binary := range o.binaries {
		held, architecture := manifest.Manifests[i], []string{"amd64", "arm64"}[i]
		if held.Digest.String() != digestOf(t, mustBuild(t, binary)) || held.Platform.Architecture != architecture {
			t.Errorf("the index holds %s for %s, want %s for %s", held.Digest, held.Platform, digestOf(t, mustBuild(t, binary)), architecture)
		}
		if _, err := spdxjson.Read(bytes.NewReader(mustRead(t, o.sbom+"-linux-"+architecture+".spdx.json"))); err != nil {
			t.Error(err)
		}
	}

	reference, err := name.NewTag(tag)
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := tarball.ImageFromPath(o.archive, &reference)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(loaded); err != nil {
		t.Errorf("the archive is not valid: %v", err)
	}
}

func TestTwoBinariesForOnePlatformAreRefused(t *testing.T) {
	binary := compile(t, "linux", "arm64")
	if _, err := buildIndex([]string{binary, binary}, "v1.2.3"); err == nil || !strings.Contains(err.Error(), "linux/arm64") {
		t.Errorf("got %v, want it to name the platform", err)
	}
}

func TestPush(t *testing.T) {
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	o := newOrder(t)
	if err := o.make(); err != nil {
		t.Fatal(err)
	}
	o.tag = strings.TrimPrefix(server.URL, "http://") + "/platform/" + tag
	if err := o.upload(); err != nil {
		t.Fatal(err)
	}
	reference, err := name.ParseReference(o.tag)
	if err != nil {
		t.Fatal(err)
	}
	pushed, err := remote.Index(reference)
	if err != nil {
		t.Fatal(err)
	}
	index, err := readLayout(o.layout)
	if err != nil {
		t.Fatal(err)
	}
	want, errWant := index.Digest()
	got, errGot := pushed.Digest()
	if err := errors.Join(errWant, errGot); err != nil || got != want {
		t.Errorf("the registry has %s, want %s (%v)", got, want, err)
	}
	o.layout = t.TempDir()
	if err := o.upload(); err == nil || !strings.Contains(err.Error(), "reading the layout") {
		t.Errorf("a layout that is not there: %v", err)
	}
}

func mustRead(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
