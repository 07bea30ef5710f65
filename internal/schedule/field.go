// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// field is the grammar of one of the five fields.
type field struct {
	name     string
	min, max int      // valid values
	last     int      // the last value that * stands for; differs from max for the second name of Sunday
	hashLast int      // the last value that H stands for
	names    []string // of the values from min on
	hint     string   // what to write instead of a number that is out of range
}

var fields = [...]field{
	{name: "minute", min: 0, max: 59, last: 59, hashLast: 59, hint: "write 0 for the full hour"},
	{name: "hour", min: 0, max: 23, last: 23, hashLast: 23, hint: "write 0 for midnight"},
	{name: "day of month", min: 1, max: 31, last: 31, hashLast: 28, hint: "write 1 for the first day"},
	{
		name: "month", min: 1, max: 12, last: 12, hashLast: 12,
		names: []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"},
		hint:  "write 1 or JAN for January",
	},
	{
		name: "day of week", min: 0, max: 7, last: 6, hashLast: 6,
		names: []string{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"},
		hint:  "write 0, 7 or SUN for Sunday",
	},
}

// set is the set of values that a field matches.
type set struct {
	bits uint64 // bit n: the value n is in it
	star bool   // it has a * that stands for every value
	text string // the text, with H replaced by what it stands for
	hash bool   // it has an H
}

// parse parses a field, in upper case.
func (f field) parse(text, seed string) (set, error) {
	var result set
	elements := strings.Split(text, ",")
	for i, element := range elements {
		r, err := f.parseElement(element, seed)
		if err != nil {
			return set{}, fmt.Errorf("%s %.80q: %w", f.name, text, err)
		}
		for v := r.from; v <= r.to; v += r.step {
			result.bits |= 1 << v
		}
		result.star = result.star || strings.HasPrefix(element, "*") && r.step == 1
		if strings.HasPrefix(element, "H") {
			elements[i], result.hash = r.String(), true
		}
	}
	if sunday := uint64(1) << 7; f.max == 7 && result.bits&sunday != 0 {
		result.bits = result.bits&^sunday | 1
	}
	result.text = strings.Join(elements, ",")
	return result, nil
}

// stepRange is the meaning of one element of a list: from, from+step, ... up to to.
type stepRange struct{ from, to, step int }

func (r stepRange) String() string {
	switch {
	case r.from == r.to:
		return strconv.Itoa(r.from)
	case r.step == 1:
		return fmt.Sprintf("%d-%d", r.from, r.to)
	}
	return fmt.Sprintf("%d-%d/%d", r.from, r.to, r.step)
}

func (f field) parseElement(text, seed string) (stepRange, error) {
	values, stepText, stepped := strings.Cut(text, "/")
	hashed := values == "H" || strings.HasPrefix(values, "H(")
	r, err := f.parseValues(values, stepped)
	if err != nil {
		return stepRange{}, err
	}
	if stepped {
		size := r.to - r.from + 1
		if !hashed { // the steps may reach beyond a range, not beyond the field
			size = f.last - f.min + 1
		}
		if r.step, err = number(stepText, 1, size); err != nil {
			return stepRange{}, fmt.Errorf("step: %w", err)
		}
	}
	if !hashed {
		return r, nil
	}
	if !stepped {
		r.from += choose(seed, f.name, r.to-r.from+1)
		r.to = r.from
		return r, nil
	}
	r.from += choose(seed, f.name, r.step)
	return r, nil
}

// parseValues parses an element without its step.
func (f field) parseValues(text string, stepped bool) (stepRange, error) {
	switch {
	case text == "":
		return stepRange{}, fmt.Errorf("an element is empty: want %s", f.want())
	case text == "*":
		return stepRange{f.min, f.last, 1}, nil
	case text == "H":
		return stepRange{f.min, f.hashLast, 1}, nil
	case strings.HasPrefix(text, "H("):
		inner, closed := strings.CutSuffix(text[2:], ")")
		if !closed || !strings.Contains(inner, "-") {
			return stepRange{}, errors.New("want H, H/15, H(0-29) or H(0-29)/10")
		}
		return f.parseRange(inner)
	case strings.Contains(text, "-"):
		return f.parseRange(text)
	}
	from, err := f.value(text)
	to := from
	if stepped {
		to = max(from, f.last)
	}
	return stepRange{from, to, 1}, err
}

func (f field) parseRange(text string) (stepRange, error) {
	low, high, _ := strings.Cut(text, "-")
	from, err := f.value(low)
	if err != nil {
		return stepRange{}, err
	}
	to, err := f.value(high)
	if err != nil {
		return stepRange{}, err
	}
	if from > to {
		return stepRange{}, fmt.Errorf("range %s runs backwards: write \"%v,%v\"",
			text, stepRange{from, max(from, f.last), 1}, stepRange{f.min, to, 1})
	}
	return stepRange{from, to, 1}, nil
}

// value parses a number or a name.
func (f field) value(text string) (int, error) {
	for i, name := range f.names {
		if text == name {
			return f.min + i, nil
		}
	}
	n, err := number(text, f.min, f.max)
	if err != nil {
		return 0, f.explain(text)
	}
	return n, nil
}

// explain returns what is wrong with a value, and what to write instead.
func (f field) explain(text string) error {
	switch {
	case text != "" && strings.Trim(text, "0123456789") == "":
		return fmt.Errorf("%.40s is out of range %s; %s", text, f.want(), f.hint)
	case text == "?":
		return errors.New(`"?" is not supported; write *`)
	case f.foreign(text):
		return fmt.Errorf("%.40q is not supported: there is no L, W or #; write %s, and let the command check the date", text, f.want())
	}
	for _, name := range f.names {
		if strings.HasPrefix(text, name) {
			return fmt.Errorf("%.40q is wrong; write %s", text, name)
		}
	}
	return fmt.Errorf("%.40q is wrong: want %s", text, f.want())
}

// foreign reports whether a value belongs to another dialect: L, LW, 15W, FRIL, MON#2.
func (f field) foreign(text string) bool {
	dated := f.name == "day of month" || f.name == "day of week"
	return dated && (strings.Contains(text, "#") || strings.HasSuffix(text, "L") || strings.HasSuffix(text, "W"))
}

// want returns the valid values.
func (f field) want() string {
	if len(f.names) == 0 {
		return fmt.Sprintf("%d-%d", f.min, f.max)
	}
	return fmt.Sprintf("%d-%d or %s-%s", f.min, f.max, f.names[0], f.names[len(f.names)-1])
}

// number parses decimal digits; strconv alone would accept a sign.
func number(text string, low, high int) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || int(n) < low || int(n) > high {
		return 0, fmt.Errorf("%.40q is wrong: want %d-%d", text, low, high)
	}
	return int(n), nil
}

// choose returns a number from 0 to n-1, evenly distributed over seeds and different for each purpose.
func choose(seed, purpose string, n int) int {
	return int(hash(seed, purpose) % uint64(n)) //nolint:gosec // n is a small positive number, so is what is below it
}

func hash(seed, purpose string) uint64 {
	sum := sha256.Sum256([]byte(purpose + "/" + seed))
	return binary.BigEndian.Uint64(sum[:])
}

// Jitter returns a delay of whole seconds from 0 up to, but not including, limit. It is evenly distributed over
// seeds and always the same for one seed. A limit of less than a second returns 0.
func Jitter(seed string, limit time.Duration) time.Duration {
	seconds := int(limit / time.Second)
	if seconds < 1 {
		return 0
	}
	return time.Duration(choose(seed, "jitter", seconds)) * time.Second
}
