// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command bundle makes the bundle for the Operator Lifecycle Manager: operator-sdk generates it from
// config/manifests and the markers in api/, and this program then sets right what operator-sdk cannot
// know or gets wrong (see process.go, and docs/adr/0012-bundle.md for why). The same sources give the same
// bytes.
//
//	go run ./hack/bundle --version 0.2.0 --image registry.acme.com/platform/platform-operator:v0.2.0 --output dist/bundle-0.2.0
//
// writes the folder dist/bundle-0.2.0 and dist/bundle-0.2.0.Dockerfile, whose build context is dist. It is
// run in the root of the repository and needs bin/operator-sdk and bin/kustomize (`make tools`).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"

	"golang.org/x/mod/semver"
)

// packageName is the name under which catalogs list the operator.
const packageName = "acme-platform-operator"

type options struct {
	version        string
	image          string
	output         string
	config         string
	channels       string
	defaultChannel string
	check          bool
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, messages io.Writer) error {
	var o options
	fs := flag.NewFlagSet("bundle", flag.ContinueOnError)
	fs.SetOutput(messages)
	fs.StringVar(&o.version, "version", "", "Version of the operator, for instance 0.2.0.")
	fs.StringVar(&o.image, "image", "", "Image of the operator, with a tag or a digest.")
	fs.StringVar(&o.output, "output", "bundle", "Folder to write; the Dockerfile is written beside it.")
	fs.StringVar(&o.config, "config", "config", "Folder with the manifests, for a bundle from changed ones.")
	fs.StringVar(&o.channels, "channels", "stable,candidate", "Channels that the bundle says it is for; the catalog decides.")
	fs.StringVar(&o.defaultChannel, "default-channel", "stable", "One of the channels.")
	fs.BoolVar(&o.check, "check", false, "Write nothing; fail when the output is not what would be written.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := o.validate(); err != nil {
		return err
	}
	return o.generate(ctx)
}

// imageForm is what OperatorHub accepts as containerImage: with a registry or project, and a tag or digest.
var imageForm = regexp.MustCompile(`^([^/\s]+/)+[^/:@\s]+(:[^/:@\s]+|@sha256:[0-9a-f]{64})$`)

func (o options) validate() error {
	if !semver.IsValid("v"+o.version) || semver.Canonical("v"+o.version) != "v"+o.version {
		return fmt.Errorf("--version %q is no semantic version: give one such as 0.2.0 or 0.3.0-rc.1", o.version)
	}
	if !imageForm.MatchString(o.image) {
		return fmt.Errorf("--image %q names no image: give one such as registry.acme.com/platform/platform-operator:v%s", o.image, o.version)
	}
	return nil
}
