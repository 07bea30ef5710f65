// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schedule computes when a cron expression fires in a time zone: the slots after, before and between
// instants, and the windows of time that such slots open. It is pure: it uses no clock, client or logger.
//
// # Expressions
//
// Five fields, separated by blanks: minute (0-59), hour (0-23), day of month (1-31), month (1-12 or
// JAN-DEC), day of week (0-7 or SUN-SAT; 0 and 7 are Sunday). A field is a list of elements:
//
//	5          one value; MON, JAN: names, in upper or lower case
//	*          every value
//	1-5        a range, which never runs backwards
//	*/15       every 15th value from the first: 0, 15, 30, 45
//	10-30/5    every 5th value of a range
//	10/5       every 5th value from 10 to the last
//	H          one value, chosen by the seed
//	H/15       every 15th value, from a start that the seed chooses among the first 15
//	H(0-29)    one value of the range, chosen by the seed
//	H(0-29)/10 every 10th value of the range, from a start that the seed chooses among the first 10
//
// A step is at most the number of values it steps through, because */90 would silently differ from what it
// says. H chooses a day of the month from 1-28, so that it fires every month. Each field has its own choice, so
// H in minute and hour spreads over the whole day. The seed is the UID of an object.
//
// The macros are @hourly, @daily, @midnight, @weekly, @monthly, @yearly and @annually. There is neither
// @every nor @reboot: both depend on when a process started.
//
// Day of month and day of week: when both are restricted, a day that matches either fires; else it must
// match both. As in a CronJob, a field is not restricted when it has a "*" or "*/1" among its elements; "*/2" restricts it:
// "0 0 1,15 * FRI" fires on the 1st, the 15th and every Friday, "0 0 */2 * FRI" on odd dates and every Friday. (Debian's
// cron reads the latter as Fridays with an odd date.)
//
// The fields are parsed here because the usual library, robfig/cron, does not know H or 7 for Sunday, accepts
// "1,,2", "*-5" and "@every 1s", does not name the field that is wrong, and panics on "TZ=". CronJobs use it,
// and it is the reference in the tests: expressions that both accept have the same meaning.
//
// # When the clocks change
//
// A slot is an instant. Its wall-clock reading is skipped when clocks go forward, and occurs twice when they go
// back. There are two rules; the hour field decides which one applies.
//
// A schedule at fixed hours (the hour field does not have all 24) names readings:
//
//   - Skipped readings run once, at the first instant after the gap. Several readings in one gap, and a
//     reading that is right after the gap anyway, are one run.
//   - A repeated reading runs once, the first time.
//
// A schedule of every hour (*, */1, 0-23) names a rhythm, which is kept:
//
//   - A skipped reading is made up for, at the first instant after the gap, only when the schedule does not
//     fire anyway by the time at which that reading would have come had the clock not been changed.
//   - Repeated readings run again, unless the schedule would not have fired in all that time had the clock
//     not been changed.
//
// If the change is by whole hours, as almost everywhere, the second rule means: nothing extra, nothing lost,
// "*/15 * * * *" fires every fifteen minutes of real time. Its conditions matter where clocks move by half an
// hour (Australia/Lord_Howe) and where a whole day was skipped (Pacific/Apia, 2011-12-30): "0 * * * *" makes up
// for the 2:00 that Lord Howe skips at 2:30, an hour after its last run.
//
//	Europe/Berlin      2:00 -> 3:00 forward            3:00 -> 2:00 back
//	30 2 * * *         3:00                            2:30 CEST
//	0,30 2 * * *       3:00                            2:00 and 2:30 CEST
//	0 2,3 * * *        3:00                            2:00 CEST, 3:00
//	30 2,3 * * *       3:00, 3:30                      2:30 CEST, 3:30
//	0 */2 * * *        0:00, 3:00, 4:00                0:00, 2:00 CEST, 4:00
//	30 * * * *         1:30, 3:30                      1:30, 2:30 CEST, 2:30 CET, 3:30
//	*/15 * * * *       1:45, 3:00                      every 15 minutes, eight times from 2:00 to 3:00
//
// The two rules are those of Debian's cron, whose manual cron(8) has under NOTES: "If the time has moved
// forwards, those jobs which would have run in the time that was skipped will be run soon after the change.
// Conversely, if the time has moved backwards by less than 3 hours, those jobs that fall into the repeated time
// will not be re-run. Only jobs that run at a particular time (not specified as @hourly, nor with '*' in the
// hour or minute specifier) are affected. Jobs which are specified with wildcards are run based on the new time
// immediately." We differ in three points. Only the hour decides, and by its values, not by its spelling:
// "*/15 2 * * *" names an hour, and at Debian would not run at all in spring and twice in autumn; so does
// "0 */2 * * *". A change of more than three hours is no special case: it comes from the time zone
// database, never from somebody who corrects a clock. And a rhythm is kept across a change of half an hour.
//
// Every change of a zone's offset counts, whatever its cause. Two changes are assumed to be at least a day
// apart, as in all zones since 2000.
package schedule
