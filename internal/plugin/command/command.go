// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package command is the command line of the kubectl plugin.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/cluster"
)

// Options are what the program gets from outside.
type Options struct {
	genericiooptions.IOStreams
	// Version is the version of the program.
	Version string
	// Now is the clock from which ages are counted.
	Now func() time.Time
	// Getenv reads environment variables.
	Getenv func(string) string
}

// defaultOperatorNamespace is where the operator is installed unless somebody chose another namespace.
const defaultOperatorNamespace = "platform-operator-system"

// program is what the verbs have in common.
type program struct {
	Options
	flags             *genericclioptions.ConfigFlags
	operatorNamespace string
	allNamespaces     bool
	output            string
	wait              bool
	timeout           time.Duration
}

// Run runs the program and returns its exit code. An error is one line on the error stream.
func Run(ctx context.Context, o Options, args []string) (code int) {
	failed := 1 // the code after an error
	defer func() {
		if fault := recover(); fault != nil {
			fmt.Fprintf(o.ErrOut, "error: this is a mistake of kubectl acme %s, please report it: %v\n", o.Version, fault)
			code = failed
		}
	}()
	root := New(o)
	root.SetArgs(args)
	if verb, _, err := root.Find(args); err == nil && verb.Annotations[failsWith] != "" {
		failed = 2
	}
	err := root.ExecuteContext(ctx)
	var found finding
	switch {
	case err == nil:
		return 0
	case errors.As(err, &found):
		return 1
	}
	fmt.Fprintf(o.ErrOut, "error: %s\n", plugin.Explain(err))
	return failed
}

// finding is the error of a command that has found something, and has printed it: the exit code is 1.
type finding string

// Error implements error.
func (f finding) Error() string { return string(f) }

// failsWith is the annotation of commands whose exit code 1 is a finding, so that of errors is 2.
const failsWith = "fails-with-2"

// New returns the command with all its verbs.
func New(o Options) *cobra.Command {
	p := &program{Options: o, flags: genericclioptions.NewConfigFlags(true)}
	root := &cobra.Command{
		Use: "kubectl-acme", Version: o.Version, Short: "Show and explain the objects of the Acme Platform Operator",
		Long: "Show and explain the objects of the Acme Platform Operator, with your own rights: what you may not see is not shown,\n" +
			"and named.",
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl acme"},
		SilenceUsage: true, SilenceErrors: true, DisableAutoGenTag: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("there is no command %q; see `kubectl acme --help`", args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	p.flags.AddFlags(root.PersistentFlags())
	root.PersistentFlags().StringVar(&p.operatorNamespace, "operator-namespace", defaultOperatorNamespace,
		"The namespace that the operator is installed in.")
	root.SetIn(o.In)
	root.SetOut(o.Out)
	root.SetErr(o.ErrOut)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w; see `%s --help`", err, cmd.CommandPath())
	})
	root.AddCommand(p.status(), p.why(), p.run(), p.suspend(), p.resume(), p.restart(), p.plan(), p.doctor(), p.report())
	must(root.RegisterFlagCompletionFunc("namespace", p.completeNamespaces))
	must(root.RegisterFlagCompletionFunc("operator-namespace", p.completeNamespaces))
	return root
}

// must panics on a mistake in this package.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// atMost rejects more arguments than a verb has.
func atMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("there are too many arguments: %q; see `%s --help`", args[n], cmd.CommandPath())
		}
		return nil
	}
}

// addOutput adds the flag for the form of the output.
func (p *program) addOutput(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&p.output, "output", "o", "", "Form of the output: json, yaml or wide.")
	must(cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"json", "yaml", "wide"}, cobra.ShellCompDirectiveNoFileComp)))
}

func (p *program) addAllNamespaces(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&p.allNamespaces, "all-namespaces", "A", false, "Look in all namespaces.")
}

// open connects to the cluster of the flags, which has to serve the operator's kinds.
func (p *program) open() (*cluster.Cluster, error) { return p.openWith(cluster.Open) }

func (p *program) openWith(open func(*rest.Config, string, string) (*cluster.Cluster, error)) (*cluster.Cluster, error) {
	config, err := p.flags.ToRESTConfig()
	if err != nil {
		return nil, err
	}
	config.WarningHandler = rest.NewWarningWriter(p.ErrOut, rest.WarningWriterOptions{Deduplicate: true})
	namespace, _, err := p.flags.ToRawKubeConfigLoader().Namespace()
	if err != nil {
		return nil, err
	}
	if p.allNamespaces {
		namespace = ""
	}
	return open(config, namespace, p.operatorNamespace)
}

// target connects to the cluster, and parses what the user names there.
func (p *program) target(args []string) (c *cluster.Cluster, kind, name string, err error) {
	if kind, name, err = plugin.Target(args); err != nil {
		return nil, "", "", err
	}
	if p.allNamespaces {
		return nil, "", "", errors.New("one object is in one namespace: use --namespace instead of --all-namespaces")
	}
	c, err = p.open()
	return c, kind, name, err
}

func (p *program) printer() plugin.Printer {
	return plugin.Printer{Out: p.Out, Colours: p.colours(), Wide: p.output == "wide", Namespaces: p.allNamespaces, Now: p.Now()}
}

// colours reports whether the output is a terminal that shows colours.
func (p *program) colours() bool {
	f, ok := p.Out.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && p.Getenv("NO_COLOR") == "" && p.Getenv("TERM") != "dumb" &&
		(p.Getenv("TERM") != "" || p.Getenv("WT_SESSION") != "")
}
