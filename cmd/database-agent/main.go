// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command database-agent runs a database server as the first process of a container, and backs up, restores, fills and copies databases
// in Jobs. docs/develop/database-agent.md describes its verbs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	_ "golang.org/x/crypto/x509roots/fallback" // images of databases may have no certificate authorities

	"github.com/acme/platform-operator/internal/database/agent"
	"github.com/acme/platform-operator/internal/database/result"
)

// memoryLimit is what the agent stays below: what it moves has any size.
const memoryLimit = 48 << 20

func main() {
	debug.SetMemoryLimit(memoryLimit)
	debug.SetGCPercent(50)
	os.Exit(do(os.Args[1:]))
}

func usage() int {
	fmt.Fprintln(os.Stderr, "usage: database-agent "+strings.Join(agent.Verbs(), "|")+" [flags]; VERB --help lists them")
	return result.ExitInput
}

func do(args []string) int {
	if len(args) == 0 {
		return usage()
	}
	verb, known := agent.VerbNamed(args[0])
	if !known {
		return usage()
	}
	o := agent.Options{Log: slog.New(slog.NewJSONHandler(os.Stderr, nil)), Output: os.Stdout, Now: time.Now}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	file := bindFlags(flags, &o)
	if err := flags.Parse(args[1:]); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return result.ExitOK
		}
		return result.ExitInput
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(os.Stderr, "%q is no flag\n", flags.Arg(0))
		return result.ExitInput
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Timeout)
		defer cancel()
	}
	return report(agent.Do(ctx, verb, o), *file, o.Log)
}

// report writes the result where the kubelet reads it, and into the log.
func report(r result.Result, file string, log *slog.Logger) int {
	text := r.Encode()
	if r.Reason != "" {
		log.Error(r.Message, "verb", r.Verb, "reason", r.Reason)
	}
	if file != "" {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			log.Error("Writing the result", "error", err.Error(), "result", string(text))
		}
	}
	return result.ExitCode(r.Reason)
}

func bindFlags(fs *flag.FlagSet, o *agent.Options) (file *string) {
	bindServer(fs, o)
	fs.StringVar(&o.Path, "path", "", "Path of the backup: NAMESPACE/DATABASE/YYYYMMDDTHHMMSSZ-UID.")
	fs.StringVar(&o.UID, "uid", "", "UID of the object that the backup is made for.")
	fs.StringVar(&o.Verify, "verify", "checksum", "How a backup is verified: checksum or restore.")
	fs.DurationVar(&o.SweepOlderThan, "sweep-older-than", 24*time.Hour, "Age from which backups of this database that were never completed are removed; 0 keeps them.")
	d := &o.Destination
	fs.StringVar(&d.Dir, "destination-dir", "", "Folder of the backups.")
	fs.StringVar(&d.Endpoint, "s3-endpoint", "", "URL of an S3 server.")
	fs.StringVar(&d.Bucket, "s3-bucket", "", "Bucket of the backups.")
	fs.StringVar(&d.Prefix, "s3-prefix", "", "Prefix of all paths in the bucket.")
	fs.StringVar(&d.Region, "s3-region", "us-east-1", "Region of the bucket.")
	fs.BoolVar(&d.PathStyle, "s3-path-style", false, "Address the bucket in the path, not in the host name.")
	fs.StringVar(&d.CAFile, "s3-ca-file", "", "PEM certificates to verify the S3 server with, instead of the public ones.")
	fs.StringVar(&d.CredentialsDir, "s3-credentials-dir", result.CredentialsDir, "Folder with accessKeyID and secretAccessKey.")
	fs.StringVar(&o.EncryptionDir, "encryption-dir", result.EncryptionDir, "Folder with recipient and identity.")
	fs.StringVar(&o.Hash, "hash", "", "Hash of the content of the setup.")
	fs.StringVar(&o.State, "state", "", "What to do with the door: open or closed.")
	fs.StringVar(&o.To, "to", "", "Folder that install copies the agent to.")
	fs.Func("want-revision", "SLOT=REVISION that status waits for; may be repeated.", func(text string) error {
		slot, revision, found := strings.Cut(text, "=")
		if !found {
			return errors.New("it is not SLOT=REVISION")
		}
		if o.WantRevisions == nil {
			o.WantRevisions = map[string]string{}
		}
		o.WantRevisions[slot] = revision
		return nil
	})
	return fs.String("result-file", result.File, "File for the result.")
}

func bindServer(fs *flag.FlagSet, o *agent.Options) {
	fs.StringVar(&o.Type, "type", "", "Type of the server: postgres or mysql.")
	fs.StringVar(&o.Version, "version", "", "Version that the server of the image must have, such as 18; empty allows any.")
	fs.BoolVar(&o.Adopted, "adopted", false, "The data was there before: an empty folder is an error.")
	fs.StringVar(&o.Names.Database, "database", "app", "Name of the database.")
	fs.StringVar(&o.Names.User, "user", "app", "Name of the user.")
	fs.StringVar(&o.Host, "host", "", "Host of the server.")
	fs.StringVar(&o.SourceHost, "source-host", "", "Host of the server that migrate copies from.")
	fs.IntVar(&o.Port, "port", 0, "Port of the server; 0 is that of its type.")
	fs.IntVar(&o.SourcePort, "source-port", 0, "Port of the server that migrate copies from; 0 is the same.")
	fs.StringVar(&o.Listen, "listen", "*", "Address that the server listens on.")
	fs.StringVar(&o.HTTPAddress, "http-address", fmt.Sprintf(":%d", result.AgentPort), "Address of probes, metrics and status.")
	fs.IntVar(&o.AgentPort, "agent-port", result.AgentPort, "Port of the agent that status asks.")
	fs.DurationVar(&o.StopTimeout, "stop-timeout", 110*time.Second, "How long the server may take to stop.")
	fs.DurationVar(&o.Timeout, "timeout", 0, "How long the verb may take; 0 is without end.")
	fs.StringVar(&o.DataDir, "data-dir", result.DataDir, "Folder of the claim.")
	fs.StringVar(&o.RunDir, "run-dir", result.RunDir, "Folder for sockets and configuration.")
	fs.StringVar(&o.ScratchDir, "scratch-dir", result.ScratchDir, "Folder for the server that a restore is tried in.")
	fs.StringVar(&o.AccountsDir, "accounts-dir", result.AccountsDir, "Folder with the passwords of the accounts.")
	fs.StringVar(&o.ParametersDir, "parameters-dir", result.ParametersDir, "Folder with a file for each parameter.")
	fs.StringVar(&o.TLSDir, "tls-dir", result.TLSDir, "Folder with tls.crt and tls.key.")
	fs.StringVar(&o.SetupDir, "setup-dir", result.SetupDir, "Folder with SQL files.")
}
