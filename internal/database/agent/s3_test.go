// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
	"github.com/acme/platform-operator/internal/testenv/limit"
	"github.com/acme/platform-operator/internal/testenv/loopback"
)

// s3 runs a real S3 server with the bucket "backups", and returns its flags and its folder.
func (p *pod) s3() (flags []string, folder string, process *os.Process) {
	p.t.Helper()
	binary, err := filepath.Abs("../../../bin/versitygw")
	if err == nil {
		_, err = os.Stat(binary)
	}
	if err != nil {
		p.t.Fatalf("the S3 server is needed for this test (make bin/versitygw): %v", err)
	}
	folder = p.path("s3root")
	for _, dir := range []string{folder, filepath.Join(folder, "backups"), p.path("s3meta")} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			p.t.Fatal(err)
		}
	}
	address := loopback.Address()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, binary, "--port", address, "--access", "key", "--secret", "secret-Passw0rd", "posix", "--sidecar", p.path("s3meta"), folder)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		cancel()
		_ = cmd.Wait()
	})
	p.eventually("the S3 server listens", func() error {
		conn, err := new(net.Dialer).DialContext(p.t.Context(), "tcp", address)
		if err == nil {
			err = conn.Close()
		}
		return err
	})
	p.mount("s3/accessKeyID", "key")
	p.mount("s3/secretAccessKey", "secret-Passw0rd\n")
	return []string{
		"--path=" + backupPath, "--uid=1a2b3c4d", "--s3-endpoint=http://" + address, "--s3-bucket=backups", "--s3-prefix=/prod/eu/", "--s3-path-style",
	}, folder, cmd.Process
}

func TestBackupsInS3(t *testing.T) {
	limit.Labeled(t, limit.Slow, limit.Timed)
	t.Parallel()
	p := newPod(t, result.Postgres)
	flags, folder, process := p.s3()
	p.start()
	p.exec(p.user(), fixture[result.Postgres]...)
	// More than three parts that do not compress.
	p.exec(p.user(), "CREATE TABLE large AS SELECT i, (SELECT string_agg(md5(random()::text || i || j), '') FROM generate_series(1, 60) j) AS x FROM generate_series(1, 50000) i")
	before := time.Now()
	cmd, file := p.jobCommand("backup", flags...)
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Decode(string(text))
	if err != nil || r.Backup == nil || r.Backup.Size < 3*16<<20 {
		t.Fatalf("the backup is %+v (%v)", r.Backup, err)
	}
	took := time.Since(before)
	if most := cmd.ProcessState.SysUsage().(*syscall.Rusage).Maxrss / 1024; most >= 64 {
		t.Errorf("the agent needs %d MiB", most)
	} else {
		t.Logf("%d MiB of memory for a backup of %d MiB in %s", most, r.Backup.PlainSize>>20, took)
	}
	if _, err := os.Stat(filepath.Join(folder, "backups/prod/eu", backupPath, "manifest.json")); err != nil {
		t.Error(err)
	}
	q := p.clone()
	q.start()
	q.mustJob("restore", flags...)
	if got, want := q.contents(), p.contents(); got != want {
		t.Errorf("restored %s, want %s", got, want)
	}

	other := strings.Replace(flags[0], "1a2b3c4d", "other", 1)
	more := append(append([]string{}, flags[1:]...), other)
	for range kills() {
		p.killJob(took, "backup", more...)
	}
	p.mustJob("backup", more...)
	p.mustJob("discard", flags...)
	p.wantReason(p.job("restore", flags...), result.NotFound)

	p.wantReason(p.job("backup", append(flags, "--s3-bucket=nothere")...), result.DestinationUnreachable, "nothere")
	p.mount("s3/secretAccessKey", "wrong")
	p.wantReason(p.job("backup", flags...), result.CredentialsRejected)
	p.mount("s3/secretAccessKey", "secret-Passw0rd")
	_ = process.Kill()
	p.wantReason(p.job("backup", flags...), result.DestinationUnreachable)
	p.remove("s3/accessKeyID")
	p.wantReason(p.job("backup", flags...), result.KeyMissing, "accessKeyID")
}

func TestDestinationsThatFail(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	p := newPod(t, result.Postgres)
	p.start()
	p.exec(p.user(), fixture[result.Postgres]...)
	p.wantReason(p.job("backup", append(p.dest(), "--destination-dir=/dev/shm/not-mounted")...), result.DestinationUnreachable)
	p.wantReason(p.job("backup", append(p.dest(), "--path=../../etc/20261123T011500Z-x")...), result.InvalidInput)
	p.wantReason(p.job("backup", append(p.dest(), "--port=1", "--timeout=5s")...), result.DeadlineExceeded)
	p.mountSmall("scratch", "16k")
	p.wantReason(p.job("backup", append(p.dest(), "--destination-dir="+p.path("scratch"))...), result.DestinationFull, "full")
}

// mountSmall mounts a small volume over a folder of the pod, which needs root.
func (p *pod) mountSmall(name, size string) {
	p.t.Helper()
	if os.Getuid() != 0 {
		p.t.Skip("mounting a small volume needs root")
	}
	if err := syscall.Mount("small", p.path(name), "tmpfs", 0, "mode=0777,size="+size); err != nil {
		p.t.Skipf("mounting a small volume: %v", err)
	}
	p.t.Cleanup(func() { _ = syscall.Unmount(p.path(name), syscall.MNT_DETACH) })
}

func TestAFullVolumeIsNamed(t *testing.T) {
	limit.Labeled(t, limit.Slow)
	t.Parallel()
	forEngines(t, func(t *testing.T, kind string) {
		p := newPod(t, kind)
		p.mountSmall("data", "8m")
		p.launch()
		<-p.exited
		text, err := os.ReadFile(p.path("run/result"))
		if err != nil {
			t.Fatal(err)
		}
		r, err := result.Decode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		p.wantReason(r, result.StorageFull, "make it larger")
		if _, err := os.Stat(p.path("data/data")); err == nil {
			t.Error("there is a half-made database")
		}
	})
}
