// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package olm

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// programs are what the image of OLM holds under /bin, beside a shell.
var programs = []string{"olm", "catalog", "copy-content", "cpb", "opm", "grpc_health_probe"}

// applets are the names by which the image's programs are called that busybox stands for: OLM's pods copy files with
// cp, and operator-sdk unpacks its catalog and runs opm by a shell.
var applets = []string{"cat", "cp", "gzip", "sh"}

// configs is the folder of catalogs.
const configs = "configs"

const (
	busybox = "busybox"
	// shell is where Debian's busybox-static has its program.
	shell = "/bin/" + busybox
)

// findShell finds a shell that runs without a C library.
func findShell() (string, error) {
	if err := checkStatic(shell); err != nil {
		return "", fmt.Errorf("the image of OLM needs %s of the Debian package busybox-static: %w", shell, err)
	}
	return shell, nil
}

// fillImage fills an empty folder with what the image of OLM holds. It serves catalogs and unpacks bundles too.
func fillImage(dir, binDir, shell string) error {
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		return err
	}
	sources := []string{shell}
	for _, name := range programs {
		sources = append(sources, filepath.Join(binDir, name))
	}
	for _, source := range sources {
		if err := copyFile(source, filepath.Join(bin, filepath.Base(source))); err != nil {
			return fmt.Errorf("filling the image of OLM: %w", err)
		}
	}
	for _, name := range applets {
		if err := os.Symlink(busybox, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	tmp := filepath.Join(dir, "tmp") // opm keeps its cache there
	return errors.Join(os.Mkdir(filepath.Join(dir, configs), 0o755), os.Mkdir(tmp, 0o755), os.Chmod(tmp, 0o777|os.ModeSticky))
}

func checkStatic(program string) error {
	file, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it was only read
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			return errors.New("it is linked dynamically")
		}
	}
	return nil
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close() //nolint:errcheck // it was only read
	target, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}
