// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	_ "time/tzdata" // time zones must not depend on the image or the machine
)

const (
	// maxLength of an expression, in bytes; one that lists every value of every field has about 400.
	maxLength = 1000

	wantFields = `want five fields, "minute hour day-of-month month day-of-week", such as "5 0 * * *"`
	wantMacros = "@hourly, @daily, @midnight, @weekly, @monthly, @yearly or @annually"
)

var macros = map[string]string{
	"@HOURLY":   "0 * * * *",
	"@DAILY":    "0 0 * * *",
	"@MIDNIGHT": "0 0 * * *",
	"@WEEKLY":   "0 0 * * 0",
	"@MONTHLY":  "0 0 1 * *",
	"@YEARLY":   "0 0 1 1 *",
	"@ANNUALLY": "0 0 1 1 *",
}

// Parse parses a cron expression, whose grammar is in the package comment, in an IANA time zone; no zone means
// UTC. The seed, usually the UID of an object, determines H: the same seed gives the same slots, on every
// machine and in every version. An expression that never fires is not an error: see NeverFires. An error names
// the field, what is wrong with it, and what would be right.
func Parse(expression, timeZone, seed string) (Schedule, error) {
	location, err := parseTimeZone(timeZone)
	if err != nil {
		return Schedule{}, err
	}
	texts, err := split(expression)
	if err != nil {
		return Schedule{}, fmt.Errorf("parsing schedule %.80q: %w", expression, err)
	}
	var sets [len(fields)]set
	seeded := false
	for i, f := range fields {
		if sets[i], err = f.parse(texts[i], seed); err != nil {
			return Schedule{}, fmt.Errorf("parsing schedule %.80q: %w", expression, err)
		}
		texts[i] = sets[i].text
		seeded = seeded || sets[i].hash
	}
	p := pattern{
		minutes:   sets[0].bits,
		hours:     sets[1].bits,
		days:      sets[2].bits,
		months:    sets[3].bits,
		weekdays:  sets[4].bits,
		eitherDay: !sets[2].star && !sets[4].star,
	}
	return Schedule{text: strings.Join(texts, " "), location: location, pattern: p, fires: p.fires(), seeded: seeded}, nil
}

// split returns the five fields of an expression, in upper case, or those of its macro.
func split(expression string) ([]string, error) {
	if len(expression) > maxLength {
		return nil, fmt.Errorf("it has %d characters, more than %d", len(expression), maxLength)
	}
	texts := strings.Fields(strings.ToUpper(expression))
	switch {
	case len(texts) == 0:
		return nil, errors.New("it is empty: " + wantFields + ", or " + wantMacros)
	case strings.HasPrefix(texts[0], "@"):
		expanded, ok := macros[strings.Join(texts, " ")]
		if !ok {
			return nil, errors.New("there is no such macro: want " + wantMacros + ", or five fields")
		}
		return strings.Fields(expanded), nil
	case strings.Contains(texts[0], "TZ="):
		return nil, errors.New("the time zone is not part of the expression: set timeZone instead")
	case len(texts) != len(fields):
		return nil, fmt.Errorf("it has %d fields: %s; there are no seconds and no years", len(texts), wantFields)
	}
	return texts, nil
}

// offset matches what users write for a zone without daylight saving time.
var offset = regexp.MustCompile(`^(?i:UTC|GMT)?([+-])0?([0-9]{1,2})(?::?[0-9]{2})?$`)

// parseTimeZone rejects names that are not IANA names but would be found: the zone of the machine, and the
// variants that Debian installs, of which right/ counts leap seconds.
func parseTimeZone(name string) (*time.Location, error) {
	const want = `want an IANA name such as "Europe/Berlin" or "UTC", or none for UTC`
	if strings.EqualFold(name, "local") || strings.EqualFold(name, "localtime") {
		return nil, fmt.Errorf("time zone %q would depend on the machine: %s", name, want)
	}
	if m := offset.FindStringSubmatch(name); m != nil {
		return nil, fmt.Errorf(`time zone %q is an offset: want an IANA name such as "Europe/Berlin", which knows daylight saving time, `+
			`or "Etc/GMT%s%s" (where the sign is reversed)`, name, map[string]string{"+": "-", "-": "+"}[m[1]], m[2])
	}
	location, err := time.LoadLocation(name)
	if err != nil || strings.HasPrefix(name, "posix/") || strings.HasPrefix(name, "right/") {
		return nil, fmt.Errorf("there is no time zone %.80q: %s", name, want)
	}
	return location, nil
}
