// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/acme/platform-operator/internal/plugin"
	"github.com/acme/platform-operator/internal/plugin/cluster"
	"github.com/acme/platform-operator/internal/plugin/planning"
)

// planFlags are the flags of plan.
type planFlags struct {
	resource.FilenameOptions
	serverSide bool
}

func (p *program) plan() *cobra.Command {
	var flags planFlags
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what applying files would make, change and delete, without doing it",
		Long: "Show what applying files would change in their objects, and what the operator would then make, change and delete because of\n" +
			"them. Nothing is done: the API server admits the objects without effect, with webhooks and defaults, and the children follow\n" +
			"from the same code as in the operator. What only the operator decides is not shown: whether a host name or a namespace is\n" +
			"taken by somebody else, when pods are replaced, what admission changes in children. Values of Secrets, of ConfigMaps and of\n" +
			"environments are not shown.\n" +
			"The exit code is 0 if nothing would change, 1 if something would, and 2 after an error.",
		Example: "  kubectl acme plan -f webapp.yaml\n  kubectl acme plan -f deploy/ --recursive -n team-a\n" +
			"  kustomize build . | kubectl acme plan -f - --server-side -o json",
		Annotations:       map[string]string{failsWith: "2"},
		Args:              atMost(0),
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, _ []string) error { return p.planFiles(cmd.Context(), flags) },
	}
	cmd.Flags().StringSliceVarP(&flags.Filenames, "filename", "f", nil, "Files, folders or addresses of what is to be applied; - is the standard input.")
	cmd.Flags().BoolVarP(&flags.Recursive, "recursive", "R", false, "Look in folders below, too.")
	cmd.Flags().BoolVar(&flags.serverSide, "server-side", false, "Plan for kubectl apply --server-side.")
	must(cmd.MarkFlagFilename("filename", "yaml", "yml", "json"))
	p.addOutput(cmd)
	return cmd
}

func (p *program) planFiles(ctx context.Context, flags planFlags) error {
	if err := p.checkOutput(); err != nil {
		return err
	}
	objects, err := p.read(flags.FilenameOptions)
	if err != nil {
		return err
	}
	c, err := p.open()
	if err != nil {
		return err
	}
	reads, err := c.Planning(ctx, p.Version, p.Now())
	if err != nil {
		return err
	}
	reads.ServerSide = flags.serverSide
	plan := planning.Plan{Objects: []planning.ObjectPlan{}}
	for _, o := range objects {
		if !plugin.IsOurs(o.GroupVersionKind().Group) {
			reads.Notes = append(reads.Notes, fmt.Sprintf("%s %s is not of the operator's kinds: `kubectl diff` shows what applying it changes",
				strings.ToLower(o.GetKind()), o.GetName()))
			continue
		}
		of, err := reads.Plan(ctx, o)
		if err != nil {
			return err
		}
		plan.Objects = append(plan.Objects, of)
	}
	plan.Notes = reads.Notes
	if err := p.print(plan, func(out plugin.Printer) { printPlan(out, plan) }); err != nil {
		return err
	}
	if plan.Differs() {
		return finding("something would change")
	}
	return nil
}

// read reads the objects of files.
func (p *program) read(files resource.FilenameOptions) (all []*unstructured.Unstructured, err error) {
	if len(files.Filenames) == 0 {
		return nil, errors.New("say what is to be applied with -f FILE; see `kubectl acme plan --help`")
	}
	namespace := ""
	if p.flags.Namespace != nil {
		namespace = *p.flags.Namespace
	}
	result := resource.NewLocalBuilder().Unstructured().FilenameParam(false, &files).Flatten().Do()
	infos, err := result.Infos()
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		o, is := info.Object.(*unstructured.Unstructured)
		if !is || o.GetName() == "" {
			return nil, cluster.ErrNoName
		}
		if err := cluster.CheckNamespace(o, namespace); err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	if len(all) == 0 {
		return nil, errors.New("there is no object in the files; name others with -f")
	}
	return all, nil
}

var (
	actionSigns = map[string]plugin.Sign{
		planning.Create: plugin.SignGood, planning.Update: plugin.SignChange, planning.Delete: plugin.SignBad, planning.Nothing: "=",
		planning.Blocked: plugin.SignWarning, planning.Unknown: plugin.SignUnknown,
	}
	actionWords = map[string]string{
		planning.Create: "is made", planning.Update: "changes", planning.Delete: "is deleted", planning.Nothing: "stays as it is",
		planning.Blocked: "cannot be made", planning.Unknown: "may change",
	}
)

func printPlan(out plugin.Printer, plan planning.Plan) {
	for _, o := range plan.Objects {
		printChange(out, "", o.Change)
		for _, c := range o.Children {
			printChange(out, "  ", c)
		}
		out.Notes(o.Notes)
	}
	if len(plan.Objects) == 0 {
		out.Item("=", "there is nothing of the operator's kinds in the files")
	}
	out.Notes(plan.Notes)
}

// maxFields is how many fields of a change are shown, unless the output is wide.
const maxFields = 12

func printChange(out plugin.Printer, indent string, c planning.Change) {
	name := c.Name
	if c.Namespace != "" {
		name = c.Namespace + "/" + name
	}
	text := c.Kind + " " + name + " " + actionWords[c.Action]
	if c.Because != "" {
		text += ": " + c.Because
	}
	var below []string
	for i, f := range c.Fields {
		if i == maxFields && !out.Wide {
			below = append(below, fmt.Sprintf("and %d more fields; -o wide shows all", len(c.Fields)-i))
			break
		}
		below = append(below, fieldText(f))
	}
	out.Indented(indent).Item(actionSigns[c.Action], text, below...)
}

func fieldText(f planning.Field) string {
	switch {
	case f.From == "" && f.To == "":
		return f.Path
	case f.From == "":
		return f.Path + ": " + f.To
	case f.To == "":
		return f.Path + ": no longer " + f.From
	}
	return f.Path + ": " + f.From + " -> " + f.To
}
