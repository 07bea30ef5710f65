// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// quarantineFile lists the specs with the label Flaky: until when each may have it, the issue that is about it, and its text.
const quarantineFile = "test/quarantine.txt"

// quarantine fails for each line of a quarantine file that has no date or no issue, or whose date has passed: a quarantine is for
// the days in which somebody looks for the fault.
func quarantine(file string, today time.Time) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var errs []error
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.SplitN(line, " ", 3)
		until, err := time.Parse(time.DateOnly, words[0])
		switch {
		case err != nil || len(words) < 3:
			errs = append(errs, fmt.Errorf("%s: %q is not like \"2026-12-31 #31 the text of a spec\"", file, line))
		case !today.Before(until.AddDate(0, 0, 1)):
			errs = append(errs, fmt.Errorf("%s: the quarantine of %q (%s) has ended on %s: mend the spec, or what it found, and remove the line",
				file, words[2], words[1], words[0]))
		}
	}
	return errors.Join(errs...)
}
