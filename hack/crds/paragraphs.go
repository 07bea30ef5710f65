// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// unwrap joins the lines of every description in a schema.
func unwrap(s *apiextensionsv1.JSONSchemaProps) {
	s.Description = joinParagraphs(s.Description)
	for name, p := range s.Properties {
		unwrap(&p)
		s.Properties[name] = p
	}
	if s.Items != nil {
		unwrap(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		unwrap(s.AdditionalProperties.Schema)
	}
}

var (
	bulleted = regexp.MustCompile(`^[-*•] `)
	numbered = regexp.MustCompile(`^[0-9]{1,2}[.)] `)
	indented = regexp.MustCompile(`^(\t|    )`)
)

const fence = "```"

// joinParagraphs puts each paragraph and each item of a list on one line, because kubectl explain wraps lines itself. Blocks
// of code, fenced or indented, keep their lines.
func joinParagraphs(text string) string {
	var joined []string
	// open says that the next line of prose continues the last line.
	open, inList, fenced := false, false, false
	for line := range strings.SplitSeq(text, "\n") {
		prose := strings.TrimSpace(line)
		item := startsItem(prose, inList || !open)
		switch {
		case strings.HasPrefix(prose, fence):
			fenced, open = !fenced, false
			joined = append(joined, line)
		case fenced || indented.MatchString(line) && !inList:
			open = false
			joined = append(joined, line)
		case prose == "":
			open, inList = false, false
			joined = append(joined, "")
		case open && !item:
			joined[len(joined)-1] += " " + prose
		default:
			open, inList = true, item
			joined = append(joined, strings.TrimRight(line, " \t"))
		}
	}
	return strings.Join(joined, "\n")
}

// startsItem reports whether an item of a list begins. Prose may have a number at the start of a line, so that a numbered item
// has to follow another item, or an empty line.
func startsItem(line string, mayBeNumbered bool) bool {
	return bulleted.MatchString(line) || mayBeNumbered && numbered.MatchString(line)
}
