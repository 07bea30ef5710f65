// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command catalog keeps the file-based catalog, from which the Operator Lifecycle Manager learns which
// versions there are and which may follow which.
//
//	go run ./hack/catalog add --template catalog/template.yaml --version 0.2.0 --image registry.acme.com/platform/platform-operator-bundle:v0.2.0
//	go run ./hack/catalog render --template catalog/template.yaml --bundle bundle --output catalog/acme-platform-operator/catalog.yaml
//
// add lists a version in the template: one without a suffix such as -rc.1 in the channels stable and
// candidate, one with a suffix in candidate only. render writes the catalog that the template describes. A
// version whose bundle is among the folders given is rendered again; one that is not keeps what the output
// says of it, since what was published does not change. With --inline the catalog holds the bundles
// themselves, and needs no image of them. render is run in the root of the repository and needs bin/opm.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

const (
	packageName      = "acme-platform-operator"
	channelStable    = "stable"
	channelCandidate = "candidate"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "catalog:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, messages io.Writer) error {
	if len(args) == 0 {
		return errors.New("say add or render")
	}
	fs := flag.NewFlagSet("catalog "+args[0], flag.ContinueOnError)
	fs.SetOutput(messages)
	template := fs.String("template", "catalog/template.yaml", "Template of the catalog.")
	switch args[0] {
	case "add":
		version := fs.String("version", "", "Version to list, for instance 0.2.0.")
		image := fs.String("image", "", "Image of its bundle, with the tag vVERSION.")
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		return addFile(*template, *version, *image)
	case "render":
		var r rendering
		fs.Var(&r.bundles, "bundle", "Folder of a bundle; may be given several times.")
		fs.StringVar(&r.output, "output", "catalog/"+packageName+"/catalog.yaml", "File to write.")
		fs.BoolVar(&r.inline, "inline", false, "Put the bundles themselves into the catalog instead of the names of their images.")
		fs.BoolVar(&r.check, "check", false, "Write nothing; fail when the output is not what would be written.")
		if err := fs.Parse(args[1:]); err != nil {
			return err
		}
		return r.run(ctx, *template)
	default:
		return fmt.Errorf("%q is no command: say add or render", args[0])
	}
}

// folders is a flag that may be given several times.
type folders []string

func (f *folders) String() string { return strings.Join(*f, ",") }

func (f *folders) Set(folder string) error {
	*f = append(*f, folder)
	return nil
}
