// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package command

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/acme/platform-operator/internal/plugin"
)

// completeObjects completes KIND/NAME: the kinds first, then the names of a kind's objects. What cannot be read completes
// nothing.
func (p *program) completeObjects(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	c, err := p.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	word, _, named := strings.Cut(begun, "/")
	if !named {
		var kinds []string
		for _, k := range c.Kinds {
			kinds = append(kinds, k.Word()+"/")
		}
		return starting(kinds, begun), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
	k, err := plugin.Find(c.Kinds, word)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := c.Names(cmd.Context(), k)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	for i := range names {
		names[i] = word + "/" + names[i]
	}
	return starting(names, begun), cobra.ShellCompDirectiveNoFileComp
}

// completeNamespaces completes the names of namespaces.
func (p *program) completeNamespaces(cmd *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
	c, err := p.open()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names, err := c.Namespaces(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return starting(names, begun), cobra.ShellCompDirectiveNoFileComp
}

func starting(words []string, begun string) []string {
	return slices.DeleteFunc(words, func(word string) bool { return !strings.HasPrefix(word, begun) })
}
