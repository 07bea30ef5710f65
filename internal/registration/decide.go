// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import (
	"fmt"
	"time"
)

const (
	// servedGrace is how long the Service may be without a ready endpoint until the API is unregistered: longer than a rollout needs.
	servedGrace = 15 * time.Second
	// firstRetry is when an API that could not be reached is registered again. The time doubles with each failure, up to lastRetry.
	firstRetry = time.Minute
	lastRetry  = 32 * time.Minute
	// noticedWithin is how late API servers notice that they do not reach an API: they look every 30 s, and wait 6 s for an answer.
	// Connections that they have are used until then, so what the condition says begins later than the fault.
	noticedWithin = 36 * time.Second
	// provenAfter is how long the API has to be available without a gap until earlier gaps and failures no longer count.
	provenAfter = 10 * time.Minute
)

// cause is why the API is not registered.
type cause string

const (
	causeNone          cause = ""
	causeDisabled      cause = "Disabled"
	causeNameTaken     cause = "NameTaken"
	causeNoRole        cause = "NoRole"
	causeNoCertificate cause = "NoCertificate"
	causeNotServed     cause = "NotServed"
	causeUnreachable   cause = "Unreachable"
)

// observation is what is seen of the cluster at one moment.
type observation struct {
	// enabled is what the configuration says, and patience how long the API may be unavailable.
	enabled  bool
	patience time.Duration
	// owned is true while there is a ClusterRole that owns the registration: without one, it would outlive the installation.
	owned bool
	// certified is false while API servers have no certificate to verify the reader by, and the operator is not to make one.
	certified bool
	// served is true while the Service has its port and a ready endpoint.
	served bool
	// present is true while there is an APIService of the name, and available if the API server reaches what is behind it.
	present, available bool
	// holder is where the APIService leads that somebody else made; empty if it is the operator's.
	holder string
	// unavailableSince is when the API server found that it does not reach what is behind it; zero if that is unknown.
	unavailableSince time.Time
	// answered is when the leader last got an answer from the reader, by way of an API server; zero if it got none.
	answered time.Time
}

// memory is what the leader remembers from one decision to the next. A new leader begins with none, but for how long the API has been
// failing: it tries at once what failed before, which costs the cluster one more time of patience at most.
type memory struct {
	// looked is true once the leader has looked.
	looked bool
	// Since when the API has been so; zero while it is not. An API that is available is served, too.
	unserved, failing, available time.Time
	// outage is the sum of the gaps: the times in which the API was registered and down, since it was proven or has failed. It is
	// counted up to counted. gap is what the last of them was.
	outage  time.Duration
	counted time.Time
	gap     cause
	// down is true if the last decision left an API registered that is down: the time until the next decision counts.
	down bool
	// failures counts how often the outage became too long, and cause is why the last time. retryAt is when the API is registered again.
	failures int
	cause    cause
	retryAt  time.Time
}

// decision is what to do.
type decision struct {
	// register is true if the API is to be registered; else it is not to be, because of cause.
	register bool
	cause    cause
	// holder is who has the name, if the cause is that it is taken.
	holder string
	// recheck is when the decision may become another one without an event; zero means never.
	recheck time.Duration
}

// decide decides whether the API is registered. It returns what to remember, too.
//
// An APIService that nobody answers harms the whole cluster: no Namespace can be deleted, because the API server cannot say what is in
// it. So the API is registered only while it is served, and one that is down costs the cluster the time of patience once, and then
// once in half an hour. Gaps count together: an API that comes and goes must not cost more than one that is never reached.
func decide(o observation, m memory, now time.Time) (decision, memory) {
	m = m.after(o, now)
	d := decision{cause: o.obstacle(), holder: o.holder}
	if d.cause == causeNone {
		d, m = m.decide(o, now)
	}
	m.down = d.register && o.down()
	return d, m
}

// obstacle returns what keeps the API from being registered, whether it is served or not.
func (o observation) obstacle() cause {
	switch {
	case o.holder != "":
		return causeNameTaken
	case !o.enabled:
		return causeDisabled
	case !o.owned:
		return causeNoRole
	case !o.certified:
		return causeNoCertificate
	}
	return causeNone
}

// down reports whether the API is registered and not available or not served.
func (o observation) down() bool { return o.present && o.holder == "" && (!o.available || !o.served) }

// decide decides about an API that nothing else keeps from being registered.
func (m memory) decide(o observation, now time.Time) (decision, memory) {
	if cause := m.failure(o, now); cause != causeNone && !now.Before(m.retryAt) {
		m.failures++
		m.cause, m.retryAt = cause, now.Add(retryAfter(m.failures))
	}
	switch {
	case now.Before(m.retryAt):
		m.outage = 0 // the next try has all of the time
		return decision{cause: m.cause, recheck: m.retryAt.Sub(now)}, m
	case !o.served && (!o.present || now.Sub(m.unserved) >= servedGrace):
		return decision{cause: causeNotServed}, m
	}
	d := decision{register: true, recheck: sooner(until(m.unserved, servedGrace, now), until(m.failing, o.patience, now))}
	if o.down() {
		d.recheck = sooner(d.recheck, until(now, o.patience-m.outage, now))
	}
	return d, m
}

// failure returns why an API was down for too long, in one gap or in many; none if it was not.
func (m memory) failure(o observation, now time.Time) cause {
	switch {
	case !m.failing.IsZero() && now.Sub(m.failing) >= o.patience:
		return causeUnreachable
	case m.outage >= o.patience:
		return m.gap
	}
	return causeNone
}

// after returns the memory that follows from what is seen.
func (m memory) after(o observation, now time.Time) memory {
	if !m.available.IsZero() && now.Sub(m.available) >= provenAfter {
		m.failures, m.outage = 0, 0
	}
	m.unserved = since(!o.served, m.unserved, now)
	// An API that is not available counts as failing whether it is served or not: endpoints that come and go must not hide that.
	if !m.looked { // with the time of the API server: that of a leader could be shorter than patience, one after the other
		m.failing = o.unavailableSince
	}
	m.looked = true
	worked := m.failing.IsZero()
	m.failing = since(o.present && !o.available, m.failing, now)
	if worked && !m.failing.IsZero() {
		m.failing = o.faultySince(now)
	}
	m = m.count(o, now)
	m.available = since(o.present && !o.down(), m.available, now)
	if latest := now.Add(lastRetry); m.retryAt.After(latest) { // the clock was set back
		m.retryAt = latest
	}
	return m
}

// count adds to the outage what has passed of it since the last look. One that API servers notice now began before, but not before the end
// of what is counted.
func (m memory) count(o observation, now time.Time) memory {
	from := now
	switch {
	case m.down:
		from = m.counted
	case !o.down():
		return m
	case !m.failing.IsZero():
		from = later(m.failing, m.counted)
	}
	m.outage += max(0, now.Sub(from)) // less than zero: the clock was set back
	m.counted = now
	switch {
	case o.down() && !o.served:
		m.gap = causeNotServed
	case o.down():
		m.gap = causeUnreachable
	}
	return m
}

// faultySince returns since when an API does not answer that was found to be unavailable now: since the last answer that the leader got,
// as far as that can be. Without that, namespaces could not be deleted for patience, and as long as API servers need to notice.
func (o observation) faultySince(now time.Time) time.Time {
	earliest := now.Add(-noticedWithin)
	switch {
	case o.answered.IsZero() || o.answered.After(now): // or the clock was set back
		return now
	case o.answered.Before(earliest):
		return earliest
	}
	return o.answered
}

// since returns since when something holds: from before, or now; zero if it does not hold.
func since(holds bool, before, now time.Time) time.Time {
	switch {
	case !holds:
		return time.Time{}
	case before.IsZero() || before.After(now): // or the clock was set back
		return now
	}
	return before
}

// later returns the later one of two times.
func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// until returns what is left of a time that began at since; zero if none has begun.
func until(since time.Time, length time.Duration, now time.Time) time.Duration {
	if since.IsZero() {
		return 0
	}
	return max(since.Add(length).Sub(now), time.Millisecond)
}

// sooner returns the shorter of two times of which zero means never.
func sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// retryAfter returns how long an API stays unregistered after so many failures in a row.
func retryAfter(failures int) time.Duration {
	wait := firstRetry
	for range failures - 1 {
		if wait *= 2; wait >= lastRetry {
			return lastRetry
		}
	}
	return wait
}

// sentence explains a decision in the events of the Deployment.
func (d decision) sentence(o *Options) string {
	if d.register {
		return fmt.Sprintf("The API %s is registered: kubectl get mynamespaces answers.", apiGroup)
	}
	switch d.cause {
	case causeDisabled:
		return "The views are not registered, because views.state of the operator's configuration is Disabled."
	case causeNameTaken:
		return fmt.Sprintf("The views are not registered: the APIService %s belongs to somebody else, and leads to %s. Delete it, or what makes it, "+
			"such as a CustomResourceDefinition of the group %s, or another installation of the operator; one serves the whole cluster.",
			apiServiceName, d.holder, apiGroup)
	case causeNoRole:
		return fmt.Sprintf("%s is missing. It owns the registration. Reinstall the operator.", o.anchor())
	case causeNoCertificate:
		return fmt.Sprintf("The views are not registered, because the Secret %s has no certificate authority in ca.crt. With "+
			"views.certificate Provided, let cert-manager or an administrator write it.", o.Secret())
	case causeNotServed:
		if d.recheck > 0 {
			return fmt.Sprintf("The views were unregistered, because the Service %s had no ready endpoint too often: while it has none, no namespace "+
				"can be deleted. Read the logs of the pods of the Deployment %s. Registering is tried again in %s.",
				o.Service, o.Deployment(), d.recheck.Round(time.Second))
		}
		return fmt.Sprintf("The views are not registered, because the Service %s has no ready endpoint or no port https. "+
			"They are registered again as soon as a pod of the Deployment %s is ready.", o.Service, o.Deployment())
	default:
		return fmt.Sprintf("The views were unregistered, because the API server cannot reach the Service %s: while it cannot, no namespace "+
			"can be deleted. The condition Available of the APIService says why. Allow connections from the control plane to port 10250 "+
			"of the pods. It is tried again in %s.", o.Service, d.recheck.Round(time.Second))
	}
}
