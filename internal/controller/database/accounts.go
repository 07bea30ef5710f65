// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/databases/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// fresh makes a password of 26 letters and digits (130 random bits), or a revision.
func fresh() string { return rand.Text() }

func unchanged(before, after client.Object) bool { return equality.Semantic.DeepEqual(before, after) }

// storeAccounts decides about the passwords, and writes the administration Secret. The connection Secret follows when that is written.
func (r *run) storeAccounts(ctx context.Context) (engine.Outcome, error) {
	secret := &corev1.Secret{}
	exists, err := r.read(ctx, r.key(adminName(r.Obj)), secret)
	if err != nil {
		return engine.Outcome{}, err
	}
	if exists && (metav1.GetControllerOfNoCopy(secret) != nil || !r.isNamed(secret) && secret.Labels[names.LabelDataUID] != string(r.Obj.UID)) {
		return r.Taken(secret), nil
	}
	shown, err := r.shown(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	r.ask()
	r.verdict = decideCredentials(r.credentials(parseAccounts(secret.Data), shown), fresh)
	r.in.show, r.in.ready = r.verdict.show, true
	out, err := r.writeAccounts(ctx, exists, secret)
	if err != nil || !out.GoesOn() {
		return out, err
	}
	r.recordAccounts()
	if !r.verdict.due.IsZero() {
		out = out.Due(r.verdict.due)
	}
	return out, nil
}

// shown reads what the connection Secret has.
func (r *run) shown(ctx context.Context) (login, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, r.key(baseName(r.Obj)), secret)
	switch {
	case apierrors.IsNotFound(err):
		return login{}, nil
	case err != nil:
		return login{}, fmt.Errorf("reading the connection Secret: %w", err)
	case !r.Owned(secret):
		return login{}, nil
	}
	if secret, err = engine.Whole(ctx, r.Live, secret); err != nil {
		return login{}, client.IgnoreNotFound(err)
	}
	return login{string(secret.Data[keyUsername]), string(secret.Data[keyPassword])}, nil
}

// ask asks the agent, in the background, if there is a pod that may have one.
func (r *run) ask() {
	if r.set == nil || r.set.Status.Replicas == 0 {
		return
	}
	r.asked = true
	r.agent, r.answered, r.agentErr = engine.Ask(r.Scope, r.status, agentAddress(r.Obj))
}

// credentials is what a decision about passwords depends on.
func (r *run) credentials(have accounts, shown login) credentials {
	c := credentials{
		now: r.Clock.Now(), kind: string(r.Obj.Spec.Type), user: userOf(r.Obj), fixed: r.fixed, have: have, shown: shown, request: requestOf(r.Obj),
	}
	if o := r.Obj.Spec.Rotation.Overlap; o != nil {
		c.overlap = o.Duration
	}
	if s := r.Obj.Status.Credentials; s != nil {
		c.granted = s.Request
		if s.RotatedAt != nil {
			c.rotatedAt = s.RotatedAt.Time
		}
	}
	if !r.answered || r.agentErr != nil {
		return c
	}
	c.inside = map[slot]applied{}
	for _, a := range r.agent.Accounts {
		c.inside[slot(a.Slot)] = applied{a.Revision, a.InForce, a.Error}
	}
	return c
}

// requestOf names the rotation that is requested: by the spec, or by the annotation, which is for people in a hurry.
func requestOf(db *v1alpha1.Database) string {
	request := names.Request(db.Annotations[names.AnnotationRotate])
	if at := db.Spec.Rotation.RequestedAt; !at.IsZero() {
		request = at.UTC().Format(time.RFC3339) + " " + request
	}
	return request
}

// writeAccounts writes the administration Secret unless it is as it should be.
func (r *run) writeAccounts(ctx context.Context, exists bool, secret *corev1.Secret) (engine.Outcome, error) {
	after := secret.DeepCopy()
	after.Namespace, after.Name, after.Data = r.Obj.Namespace, adminName(r.Obj), r.verdict.accounts.data()
	r.mark(after)
	if exists && unchanged(secret, after) {
		return engine.Done(), nil
	}
	var err error
	if exists {
		err = r.patch(ctx, secret, after)
	} else {
		err = r.Client.Create(ctx, after, client.FieldOwner(names.FieldManager(Name)), client.DisableReadYourWritesConsistency)
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return engine.Wait(recheck, "NamespaceTerminating", "the Namespace is being deleted"), nil
	case err != nil:
		return engine.Outcome{}, fmt.Errorf("writing the Secret %s: %w", after.Name, err)
	}
	return engine.Done(), nil
}

// recordAccounts records in the status which account applications log in with, and the last rotation.
func (r *run) recordAccounts() {
	s := &v1alpha1.CredentialsStatus{User: r.verdict.show.user}
	if was := r.Obj.Status.Credentials; was != nil {
		s.Request, s.RotatedAt = was.Request, was.RotatedAt
	}
	if granted := r.verdict.accounts.granted; granted != "" && granted != s.Request {
		now := metav1.NewTime(r.Clock.Now())
		s.Request, s.RotatedAt = granted, &now // of retained accounts, too: the overlap of their old password begins again
		if r.Obj.Status.Credentials != nil {   // else the former object has reported the rotation
			r.Told(func() { r.Event(corev1.EventTypeNormal, EventRotated, "Applications log in as %s from now on", s.User) })
		}
	}
	r.Obj.Status.Credentials = s
}

// rejected says that the server rejects the password, and what is in force instead. The secret is the connection Secret.
func (v verdict) rejected(secret string) engine.Outcome {
	if v.accounts.last == "" {
		return engine.BlockFor(recheck, ReasonPasswordRejected, fmt.Sprintf("the server rejects the password that was chosen, and nobody "+
			"can log in: %s. Choose another one", v.trouble))
	}
	return engine.Lacking(ReasonPasswordRejected, fmt.Sprintf("the server rejects the password that was chosen, and the former one works on: "+
		"%s. Choose another one, or delete the Secret %s, which restores the former one", v.trouble, secret))
}

// checkCredentials reports whether the password in the connection Secret is the one in the database.
func (r *run) checkCredentials(context.Context) (engine.Outcome, error) {
	v := r.verdict
	if err := r.agentErr; err != nil && !r.Obj.Spec.Suspended {
		return engine.Uncertain(r.pace(CredentialsInSync), ReasonAgentUnreachable,
			fmt.Sprintf("the agent in the pod does not answer: %v", err)), nil
	}
	switch {
	case r.Obj.Spec.Suspended:
		return engine.Done().Saying("the server is stopped"), nil
	case v.trouble != "":
		return v.rejected(baseName(r.Obj)), nil
	case v.pending || v.accounts.request != "":
		return engine.Uncertain(r.pace(CredentialsInSync), ReasonPasswordPending, "the agent has not applied a new password yet"), nil
	}
	if s := r.Obj.Status.Storage; s.Volume == "" || s.Capacity == nil || s.Capacity.Cmp(r.Obj.Spec.Storage.Size) < 0 {
		return engine.DoneUntil(r.pace(CredentialsInSync)), nil // no watch reports what becomes of the claim
	}
	return engine.DoneUntil(look), nil
}
