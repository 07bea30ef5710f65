// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"maps"
	"strings"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
)

// The user of a database has two accounts, so that an old and a new password are valid together. The connection Secret has the
// password of one of them, the current one; a rotation changes to the other one.

// slot is one of the two accounts.
type slot string

const (
	slotA slot = result.SlotA
	slotB slot = result.SlotB
)

func (s slot) other() slot {
	if s == slotB {
		return slotA
	}
	return slotB
}

// password is one password, and what identifies it without saying anything about it.
type password struct{ text, revision string }

// accounts are what the administration Secret has: what the agent is to make true inside the database.
type accounts struct {
	// admin is the password of the agent's own account.
	admin string
	slots [2]password // of slotA, slotB
	// current is the slot whose password the connection Secret has.
	current slot
	// last is the password of the current slot that is known to have worked, while another one is being applied.
	last string
	// request is the rotation that is in progress, empty if there is none, and granted the last one that was done.
	request, granted string
}

func (a *accounts) of(s slot) *password {
	if s == slotB {
		return &a.slots[1]
	}
	return &a.slots[0]
}

// The keys of the administration Secret. The agent reads those of passwords and revisions.
const (
	keyAdmin   = "admin-password"
	keyCurrent = "current"
	keyLast    = "last-password"
	keyRequest = "request"
	keyGranted = "granted"

	suffixPassword = "-password"
	suffixRevision = "-revision"
)

// parseAccounts reads the data of the administration Secret. What is not there is empty.
func parseAccounts(data map[string][]byte) accounts {
	a := accounts{
		admin: string(data[keyAdmin]), current: slotA, last: string(data[keyLast]),
		request: string(data[keyRequest]), granted: string(data[keyGranted]),
	}
	if slot(data[keyCurrent]) == slotB {
		a.current = slotB
	}
	for _, s := range []slot{slotA, slotB} {
		*a.of(s) = password{string(data[string(s)+suffixPassword]), string(data[string(s)+suffixRevision])}
	}
	return a
}

// data is the reverse of parseAccounts.
func (a accounts) data() map[string][]byte {
	out := map[string][]byte{keyAdmin: []byte(a.admin), keyCurrent: []byte(a.current)}
	for key, value := range map[string]string{keyLast: a.last, keyRequest: a.request, keyGranted: a.granted} {
		if value != "" {
			out[key] = []byte(value)
		}
	}
	for _, s := range []slot{slotA, slotB} {
		if p := a.of(s); p.text != "" {
			out[string(s)+suffixPassword], out[string(s)+suffixRevision] = []byte(p.text), []byte(p.revision)
		}
	}
	return out
}

// login is an account with a password; it is empty if there is none.
type login struct{ user, password string }

// applied is what the agent reports of one account.
type applied struct {
	revision string
	inForce  bool
	trouble  string
}

// credentials is all that a decision about passwords depends on.
type credentials struct {
	now time.Time
	// kind is the type of the server, which limits the names of accounts.
	kind, user string
	// fixed is the password that the spec has; empty if one is generated.
	fixed string
	// request names the rotation that was requested last, and granted the one that the status has as granted.
	request, granted string
	rotatedAt        time.Time
	overlap          time.Duration // 0: until the next rotation
	// have is what the administration Secret has; empty if there is none.
	have accounts
	// shown is what the connection Secret has.
	shown login
	// inside is what the agent reports; nil if it does not answer.
	inside map[slot]applied
}

// account is the name of the account of a slot, as the agent makes it.
func (c credentials) account(s slot) string { return result.AccountName(c.kind, c.user, string(s)) }

// verdict is what follows for passwords.
type verdict struct {
	// accounts is what the administration Secret is to have.
	accounts accounts
	// show is what the connection Secret is to have.
	show login
	// trouble is why the current password is not the one inside the database; pending: it is not known yet.
	trouble string
	pending bool
	// due is when an old password ends.
	due time.Time
}

// decideCredentials decides what the two Secrets are to have. Passwords are only ever added to the database, then shown: what the
// connection Secret has works, unless somebody else has written it. fresh makes a password, or a revision.
func decideCredentials(c credentials, fresh func() string) verdict {
	v := verdict{accounts: c.have}
	c.restore(&v, fresh)
	c.settle(&v)
	switch wish := c.wish(v.accounts); {
	case c.takenBack(v.accounts):
		v.accounts.replace(v.accounts.last, "", fresh)
	case wish != "":
		last := v.accounts.last
		if last == "" {
			last = v.accounts.of(v.accounts.current).text
		}
		v.accounts.replace(wish, last, fresh)
	default:
		c.rotate(&v, fresh)
		c.expire(&v)
	}
	c.judge(&v)
	v.show = c.display(v.accounts)
	return v
}

// takenBack reports whether the connection Secret was deleted, or has its former password again, before the one that somebody had
// written into it came into force.
func (c credentials) takenBack(a accounts) bool {
	return a.last != "" && (c.shown == login{} || c.fixed == "" && c.shown == login{c.account(a.current), a.last})
}

// replace gives the current slot another password.
func (a *accounts) replace(text, last string, fresh func() string) {
	*a.of(a.current) = password{text, fresh()}
	a.last = last
}

// restore fills in what the administration Secret lacks, from the connection Secret as far as that has it.
func (c credentials) restore(v *verdict, fresh func() string) {
	a := &v.accounts
	if a.admin == "" {
		a.admin = fresh()
	}
	current := a.of(a.current)
	if current.text != "" && current.revision != "" {
		return
	}
	if c.have == parseAccounts(nil) && c.shown.user == c.account(slotB) { // all is lost, also which account is the current one
		a.current = slotB
		current = a.of(slotB)
	}
	shown := ""
	if c.shown.user == c.account(a.current) {
		shown = c.shown.password
	}
	if current.text = cmp.Or(current.text, shown, c.fixed); current.text == "" {
		current.text = fresh()
	}
	current.revision = fresh()
}

// settle forgets the former password of the current slot once the new one is in force.
func (c credentials) settle(v *verdict) {
	if c.isInForce(v.accounts, v.accounts.current) {
		v.accounts.last = ""
	}
}

// isInForce reports whether the database has the password of a slot.
func (c credentials) isInForce(a accounts, s slot) bool {
	is := c.inside[s]
	return is.inForce && is.revision == a.of(s).revision && is.trouble == ""
}

// wish returns the password that the current slot is to have instead of its own; empty if none.
func (c credentials) wish(a accounts) string {
	now := a.of(a.current).text
	switch {
	case c.fixed != "" && c.fixed != now:
		return c.fixed
	case c.fixed != "":
		return ""
	case c.shown.user != c.account(a.current) || c.shown.password == now:
		return ""
	}
	return c.shown.password // it was edited
}

// rotate makes a password for the other slot, and changes to it once it is in force.
func (c credentials) rotate(v *verdict, fresh func() string) {
	a := &v.accounts
	next := a.of(a.current.other())
	switch {
	case c.fixed != "" || a.request == "" && !c.isNew(a.granted):
		a.request = ""
	case a.request == "" && c.shown != login{c.account(a.current), a.of(a.current).text}:
		// Applications may still have the other password: it is all that the connection Secret has.
	case a.request == "" || next.text == "":
		a.request = cmp.Or(a.request, c.request)
		*next = password{fresh(), fresh()}
	case c.isInForce(*a, a.current.other()):
		a.current, a.request, a.granted, a.last = a.current.other(), "", a.request, ""
	}
}

// isNew reports whether a rotation is requested that was not granted, as the status and the administration Secret have it.
func (c credentials) isNew(granted string) bool {
	return asksMore(c.request, c.granted) && asksMore(c.request, granted)
}

// asksMore reports whether a request has a part that another one has not: who takes one back asks for nothing.
func asksMore(request, other string) bool {
	at, text := parts(request)
	otherAt, otherText := parts(other)
	return at != "" && at != otherAt || text != "" && text != otherText
}

// parts are the time and the annotation of a request, each of which may be empty.
func parts(request string) (at, text string) {
	at, text, both := strings.Cut(request, " ")
	if _, err := time.Parse(time.RFC3339, at); !both || err != nil {
		return "", request
	}
	return at, text
}

// expire ends the old password when the overlap has passed.
func (c credentials) expire(v *verdict) {
	a := &v.accounts
	old := a.of(a.current.other())
	if c.overlap <= 0 || c.rotatedAt.IsZero() || old.text == "" || a.request != "" || a.granted != c.granted {
		return
	}
	if end := c.rotatedAt.Add(c.overlap); c.now.Before(end) {
		v.due = end
		return
	}
	*old = password{}
}

// judge reports whether the current password works.
func (c credentials) judge(v *verdict) {
	is, a := c.inside[v.accounts.current], v.accounts
	switch {
	case c.inside == nil:
		v.pending = true
	case c.isInForce(a, a.current):
	case is.trouble != "":
		v.trouble = is.trouble
	default:
		v.pending = true
	}
}

// display returns what the connection Secret is to have: a password that works, or the one that somebody has written into it.
func (c credentials) display(a accounts) login {
	user, now := c.account(a.current), a.of(a.current).text
	if a.last != "" && (c.shown != login{user, now}) {
		return login{user, a.last}
	}
	return login{user, now}
}

// claimView is what the proof of a claim depends on.
type claimView struct {
	// recorded is the UID of the claim that the status has; empty before there is one.
	recorded string
	// uid is that of the claim that has the name; empty if there is none. marked: it has the marks of this very object.
	uid    string
	marked bool
	// volumeOf is the mark on its volume, which no tenant can write; volumeFor is the UID of the claim that the volume is bound to.
	volumeOf, volumeFor string
	// mark is the one that the volumes of this Database have.
	mark string
	// consent: the author of the object names the volume of the claim as the one to use.
	consent bool
}

// claimState is what a claim is to a Database.
type claimState int

const (
	// claimMissing: there is none, and there was none.
	claimMissing claimState = iota
	// claimLost: there is none, or another one, although the status records one.
	claimLost
	// claimOurs: it is the one.
	claimOurs
	// claimRetained: it is not recorded, and its volume has data of a Database of this name.
	claimRetained
	// claimAdopted: it is somebody else's, and the author of the object wants its data.
	claimAdopted
	// claimForeign: it is somebody else's.
	claimForeign
)

// judgeClaim decides what a claim is. The status, and marks on volumes, can be written by no tenant. The marks on the claim itself
// count for a claim that no status records yet: they have the UID of this object, and what was created with them has no data.
func judgeClaim(v claimView) claimState {
	switch {
	case v.uid == "" && v.recorded == "":
		return claimMissing
	case v.uid == "":
		return claimLost
	case v.uid == v.recorded:
		return claimOurs
	case v.retained():
		return claimRetained
	case v.consent:
		return claimAdopted
	case v.recorded != "":
		return claimLost
	case v.created():
		return claimOurs
	}
	return claimForeign
}

// retained reports whether the volume of the claim has data of a Database of this name, and belongs to the claim.
func (v claimView) retained() bool { return v.volumeOf == v.mark && v.volumeFor == v.uid }

// created reports whether the claim was created for this object, and its volume has no data of another one.
func (v claimView) created() bool { return v.marked && (v.volumeOf == "" || v.volumeOf == v.mark) }

// paceAfter is after how long to look again at what has not changed for so long.
func paceAfter(unchanged time.Duration) time.Duration { return min(max(soon, unchanged/10), recheck) }

// merged returns the union of maps; the last one wins.
func merged(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}
