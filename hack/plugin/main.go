// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command plugin makes what comes with the kubectl plugin: its reference, and the archives to hand out, with man pages, a
// script for completion, and a manifest for krew. The same programs give the same archives.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/acme/platform-operator/internal/plugin/command"
)

func main() {
	reference := flag.String("reference", "", "write the reference to this file")
	programs := flag.String("programs", "", "make archives of the programs in this folder, OS-ARCH/kubectl-acme of each platform, beside them")
	version := flag.String("version", "v0.0.0", "version of the archives")
	url := flag.String("url", "", "address of the folder from which the archives will be downloaded, for the manifest of krew")
	flag.Parse()
	if err := run(*reference, *programs, *version, *url); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(reference, programs, version, url string) error {
	if reference != "" {
		if err := os.WriteFile(reference, []byte(referenceOf(root(version))), 0o644); err != nil {
			return err
		}
	}
	if programs == "" {
		return nil
	}
	return pack(programs, version, url)
}

// root is the command of the plugin, with nothing of this machine in its help.
func root(version string) *cobra.Command {
	cmd := command.New(command.Options{
		IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Version: version, Now: time.Now, Getenv: func(string) string { return "" },
	})
	cmd.PersistentFlags().Lookup("cache-dir").DefValue = "$HOME/.kube/cache"
	cmd.InitDefaultCompletionCmd()
	return cmd
}
