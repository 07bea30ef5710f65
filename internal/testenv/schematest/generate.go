// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schematest

import (
	"math/rand/v2"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// unbounded is how often the generator repeats what may be repeated for ever, where no length forbids it.
const unbounded = 300

// Strings generates strings that match a pattern and have at most so many characters: the shortest, a long one, those made of the first and
// of the last character of each class, and random ones. A pattern that is not anchored is met by strings that match as a
// whole.
func Strings(pattern string, maxLength, n int, r *rand.Rand) []string {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		panic(err)
	}
	matches := regexp.MustCompile(pattern)
	var all []string
	add := func(g *generator) {
		s := string(g.append(nil, parsed))
		if utf8.RuneCountInString(s) <= maxLength && matches.MatchString(s) && !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	random := func(n int) int { return r.IntN(n) }
	first, last := func(int) int { return 0 }, func(n int) int { return n - 1 }
	add(&generator{pick: first, times: func(low, _ int) int { return low }})
	for longest := unbounded; longest > 0; longest /= 2 { // the longest that is not too long
		up := func(low, high int) int { return max(low, min(high, longest)) }
		add(&generator{pick: first, times: up})
		add(&generator{pick: last, times: up})
	}
	for range n {
		add(&generator{pick: random, times: func(low, high int) int { return low + r.IntN(min(high, low+1+maxLength/4)-low+1) }})
	}
	return all
}

// generator walks a pattern.
type generator struct {
	pick  func(n int) int         // one of n possibilities
	times func(low, high int) int // how often something is repeated
}

func (g *generator) append(out []rune, re *syntax.Regexp) []rune {
	switch re.Op {
	case syntax.OpLiteral:
		return append(out, re.Rune...)
	case syntax.OpCharClass:
		return append(out, g.class(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return append(out, []rune{'a', ' ', 0x9b, 0x2028, 0x202e, 0x10ffff}[g.pick(6)])
	case syntax.OpAlternate:
		return g.append(out, re.Sub[g.pick(len(re.Sub))])
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			out = g.append(out, sub)
		}
		return out
	default:
		low, high, repeats := bounds(re)
		for range repeats * g.times(low, high) {
			out = g.append(out, re.Sub[0])
		}
		return out
	}
}

// bounds are how often a part may be repeated; repeats is 0 for what takes no room, such as an anchor.
func bounds(re *syntax.Regexp) (low, high, repeats int) {
	switch re.Op {
	case syntax.OpStar:
		return 0, unbounded, 1
	case syntax.OpPlus:
		return 1, unbounded, 1
	case syntax.OpQuest:
		return 0, 1, 1
	case syntax.OpRepeat:
		if re.Max < 0 {
			return re.Min, unbounded, 1
		}
		return re.Min, re.Max, 1
	default:
		return 0, 0, 0
	}
}

// class picks a character of a class, which is a list of ranges. Half of a surrogate pair is no character.
func (g *generator) class(ranges []rune) rune {
	i := g.pick(len(ranges)/2) * 2
	c := ranges[i] + rune(g.pick(int(ranges[i+1]-ranges[i])+1)) //nolint:gosec // It is at most the end of the range, which is a rune.
	if !utf8.ValidRune(c) {
		return ranges[i]
	}
	return c
}
