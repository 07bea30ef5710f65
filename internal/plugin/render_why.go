// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

// Answer writes why something is as it is.
func (p Printer) Answer(a Answer) {
	p.line("%s is %s", a.Object, a.Is)
	if a.Because != "" {
		p.line("%s  %s", p.paint(bold, "because"), a.Because)
	}
	if a.Do != "" {
		p.line("%s       %s", p.paint(bold, "do"), a.Do)
	}
	for _, text := range a.Also {
		p.line("%s     %s", p.paint(bold, "also"), text)
	}
	if a.Because == "" && len(a.Also) == 0 {
		p.line("nothing is wrong with it, and nothing waits")
	}
}
