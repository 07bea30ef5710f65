// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docs holds the pages that explain reasons, so that the kubectl plugin can quote them.
package docs

import "embed"

// Pages are the page of symptoms and the pages of the kinds, by their paths in this folder.
//
//go:embed troubleshooting.md kinds/*.md
var Pages embed.FS
