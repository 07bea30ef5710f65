// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// API servers use one connection for what they forward and for finding out whether it is reached. A Service that leads to another port, or a
// firewall that lets pass what is open, is no fault until that connection ends: the API answers, and namespaces can be deleted.
func TestAnOpenConnectionIsEnough(t *testing.T) {
	c := newCluster(t)
	c.refuse()
	c.keeps = true
	c.listen()
	c.start()
	c.eventually("it answers", c.answers)
	c.refuseNew()
	c.pass(10 * time.Minute)
	for range 50 {
		c.must(c.ask())
	}
	ns := c.deletedNamespace("connected")
	c.eventually("the namespace is gone", gone(ns))
	if !c.available() {
		t.Error("it is unavailable, and answers")
	}

	c.refuse() // the connection ends, too
	c.noticed()
	c.pass(time.Minute)
	c.eventually("it is gone", func() bool { return c.registered() == nil })
}

// API servers notice up to half a minute late that they do not reach an API. The minute counts from the last answer.
func TestTheMinuteCountsFromTheLastAnswer(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.eventually("it is available", c.available)
	asked := c.time().Add(askedAgain)
	c.pass(askedAgain)
	c.refuse()
	c.skip(25 * time.Second)
	c.noticed()
	c.settle()
	c.skip(30 * time.Second)
	c.settle()
	c.notBefore(asked.Add(time.Minute))
	c.skip(5 * time.Second)
	c.settle()
	c.eventually("it is gone", func() bool { return c.registered() == nil })
	c.eventually("an event says so", c.eventOf("Unregistered", "Unreachable"))
}

const (
	// askedAgain is after how long the leader asks again.
	askedAgain = 10 * time.Second
	// noticedWithin is how late API servers notice that they do not reach an API.
	noticedWithin = 36 * time.Second
)

// Somebody who looks for a fault may have API servers verify nothing. That excludes certificates to verify by, and both are repaired.
func TestVerificationIsRestored(t *testing.T) {
	c := newCluster(t)
	c.start()
	c.eventually("it is available", c.available)
	live := c.registered()
	c.must(admin.Patch(t.Context(), live, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"caBundle":null,"insecureSkipTLSVerify":true}}`))))
	c.eventually("the reader is verified again", func() bool {
		insecure, _, _ := unstructured.NestedBool(c.registered().Object, "spec", "insecureSkipTLSVerify")
		return !insecure && string(bundle(c.registered())) == string(c.secret().Data["ca.crt"])
	})
	c.settle()
	generation := c.registered().GetGeneration()
	c.settle()
	if again := c.registered().GetGeneration(); again != generation || c.registered().GetUID() != live.GetUID() {
		t.Error("it is written again and again")
	}
	c.eventually("it answers", c.answers)
}
