// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package paging lets a test's own API server answer a page at a time.
package paging

import (
	"strconv"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Cut tells which of n objects are on the page that was asked for, [from, to), and notes in the list where the next page begins.
func Cut(list client.ObjectList, asked client.ListOptions, n int) (from, to int) {
	from, _ = strconv.Atoi(asked.Continue)
	to = min(from+int(asked.Limit), n)
	if to < n {
		list.SetContinue(strconv.Itoa(to))
	}
	return from, to
}
