// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"
)

func TestFindLooksBeyondThePathOfTheCaller(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(
		os.WriteFile(filepath.Join(dir, "program"), nil, 0o700),
		os.WriteFile(filepath.Join(dir, "text"), nil, 0o600),
		os.Mkdir(filepath.Join(dir, "folder"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	if got, want := Find("program"), filepath.Join(dir, "program"); got != want {
		t.Errorf("found %q, want %q", got, want)
	}
	if Find("sh") == "" {
		t.Error("the shell, which is not on the path, was not found")
	}
	for _, name := range []string{"text", "folder", "absent"} {
		if got := Find(name); got != "" {
			t.Errorf("%s is no program: %q", name, got)
		}
	}
}

func TestRunSaysWhatTheProgramSaid(t *testing.T) {
	err := run(t.Context(), "sh", "-c", "echo no such thing >&2; exit 3")
	if err == nil || !strings.Contains(err.Error(), "exit status 3: no such thing") {
		t.Errorf("got %v", err)
	}
	if err := run(t.Context(), "no-such-program"); err == nil || !strings.Contains(err.Error(), "not installed") {
		t.Errorf("got %v", err)
	}
}

func TestRequireSpace(t *testing.T) {
	dir := t.TempDir()
	if err := requireSpace(dir, 1); err != nil {
		t.Errorf("a byte: got %v", err)
	}
	if err := requireSpace(dir, 1<<62); err == nil || !strings.Contains(err.Error(), "make room") {
		t.Errorf("more than any disk has: got %v", err)
	}
	if err := requireSpace(filepath.Join(dir, "absent"), 1); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: got %v", err)
	}
}

func TestANetworkThatTheMachineUsesIsRefused(t *testing.T) {
	if err := checkAddresses([]string{"10.96.0.0/16", "127.5.0.0/16"}); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("got %v, want it to name the loopback address", err)
	}
	if err := checkAddresses([]string{"203.0.113.0/24"}); err != nil { // no machine has an address from a documentation's network
		t.Errorf("got %v", err)
	}
	if err := checkAddresses([]string{"nonsense"}); err == nil {
		t.Error("want an error")
	}
}

// TestRemoveGroups plays both versions of control groups; the files in them, which are the kernel's, are left out.
func TestRemoveGroups(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{
		"cpu/acme-x/kubepods/pod1/container", "memory/acme-x", "memory/acme-xy/kubepods", "acme-x/kubepods", "other",
	} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // the second time there is nothing to do
		if err := removeGroups(root, "acme-x"); err != nil {
			t.Fatal(err)
		}
	}
	var left []string
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		left = append(left, strings.TrimPrefix(path, root))
		return err
	})
	want := []string{"", "/cpu", "/memory", "/memory/acme-xy", "/memory/acme-xy/kubepods", "/other"}
	if diff := cmp.Diff(want, left); err != nil || diff != "" {
		t.Errorf("%v, left (-want +got):\n%s", err, diff)
	}
	busy := filepath.Join(root, "acme-x", "busy")
	if err := os.MkdirAll(busy, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(busy, "process"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := removeGroups(root, "acme-x"); err == nil {
		t.Error("a group in use must be an error")
	}
}

func TestNamespaces(t *testing.T) {
	if os.Getenv("PLATFORM_REAL_NODE") != "1" || RequireRoot() != nil { // root alone is not enough in a container
		t.Skip("runs as root with PLATFORM_REAL_NODE=1: make test-real-node")
	}
	if err := EnsurePrograms(t.Context(), t.Output()); err != nil {
		t.Fatal(err)
	}
	first := exec.CommandContext(t.Context(), "sleep", "600")
	OwnNamespaces(first)
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = first.Process.Kill() })
	second := exec.CommandContext(t.Context(), "sh", "-c", "mount -n -t tmpfs none /mnt && exec sleep 600")
	if err := StartInside(first.Process.Pid, second); err != nil {
		t.Fatal(err)
	}
	comm := fmt.Sprintf("/proc/%d/comm", second.Process.Pid)
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		name, err := os.ReadFile(comm)
		return string(name) == "sleep\n", err
	})
	if err != nil {
		t.Fatalf("it does not come to sleep, so has not mounted: %v", err)
	}
	for _, kind := range []string{"net", "mnt", "pid"} {
		if inner, outer := namespace(t, second.Process.Pid, kind), namespace(t, os.Getpid(), kind); inner == outer {
			t.Errorf("the process is in this one's namespace %s", inner)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mounts"); err != nil || strings.Contains(string(mounts), "none /mnt tmpfs") {
		t.Errorf("a mount inside is seen outside (%v)", err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var killed *exec.ExitError
	if err := second.Wait(); !errors.As(err, &killed) || killed.String() != "signal: killed" {
		t.Errorf("the other process ended with %v, want it killed with the first", err)
	}
	if err := first.Wait(); err == nil {
		t.Error("want it killed")
	}
}

func namespace(t *testing.T, pid int, kind string) string {
	t.Helper()
	link, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns", kind))
	if err != nil {
		t.Fatal(err)
	}
	return link
}
