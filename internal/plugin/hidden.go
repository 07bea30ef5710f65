// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"slices"
	"strings"
)

// Hidden is what could not be read.
type Hidden struct {
	// Forbidden are the resources that the user may not list.
	Forbidden []string
	// Failed are those that could not be listed for another reason, with it.
	Failed []string
}

// Add adds what another reading could not read.
func (h *Hidden) Add(other Hidden) {
	h.Forbidden, h.Failed = append(h.Forbidden, other.Forbidden...), append(h.Failed, other.Failed...)
}

// Sentences describe what is hidden; there are none if everything could be read.
func (h Hidden) Sentences() (all []string) {
	if forbidden := unique(h.Forbidden); len(forbidden) > 0 {
		all = append(all, "you may not list these here, so that none of them is shown: "+strings.Join(forbidden, ", "))
	}
	for _, text := range unique(h.Failed) {
		all = append(all, "could not be listed: "+oneLine(text))
	}
	return all
}

func unique(texts []string) []string {
	texts = slices.Clone(texts)
	slices.Sort(texts)
	return slices.Compact(texts)
}
