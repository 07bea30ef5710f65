// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schematest_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"testing"
	"unicode/utf8"

	"github.com/acme/platform-operator/internal/testenv/schematest"
)

func TestStrings(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct {
		pattern   string
		maxLength int
		among     []string // some that must be there
	}{
		{`^[a-c]$`, 1, []string{"a", "b", "c"}},
		{`^a{2,3}$`, 5, []string{"aa", "aaa"}},
		{`^(a|bb)?$`, 2, []string{"", "a", "bb"}},
		{`^x*$`, 10, []string{"", "xxxxxxxxx"}},
		{`^[0-9]{1,18}([eE]1[0-8])?$`, 32, []string{"0", "999999999999999999E18"}},
		{`^([0-9]+(h|m))+$`, 32, nil},
		{`^[^\x00]*$`, 64, nil},
		{`(?i)^mon$`, 3, nil},
		{`^.+$`, 8, nil},
	} {
		t.Run(tc.pattern, func(t *testing.T) {
			got := schematest.Strings(tc.pattern, tc.maxLength, 50, r)
			if len(got) == 0 {
				t.Error("there are none")
			}
			for _, s := range got {
				if !regexp.MustCompile(tc.pattern).MatchString(s) || utf8.RuneCountInString(s) > tc.maxLength {
					t.Errorf("%q is not of the pattern, or too long", s)
				}
			}
			for _, s := range tc.among {
				if !slices.Contains(got, s) {
					t.Errorf("%q is not among %q", s, got)
				}
			}
		})
	}
}
