// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package database

import (
	"cmp"
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/acme/platform-operator/internal/engine"
	"github.com/acme/platform-operator/internal/names"
)

// accept checks what the schema cannot know, and determines the version and the images.
func (r *run) accept(ctx context.Context) (engine.Outcome, error) {
	db := r.Obj
	if err := r.readClaim(ctx); err != nil {
		return engine.Outcome{}, err
	}
	version, problem := decideVersion(db.Spec, db.Status.Version, r.takesUp(), r.server)
	if problem != "" {
		return engine.BlockFor(recheck, ReasonVersionFixed, problem), nil
	}
	r.version = version
	if out, err := r.readPassword(ctx); err != nil || !out.GoesOn() {
		return out, err
	}
	if err := r.findServer(ctx); err != nil {
		return engine.Outcome{}, err
	}
	image, err := r.agentImage(ctx)
	if err != nil {
		return engine.Outcome{}, err
	}
	if image == "" {
		return engine.BlockFor(recheck, ReasonAgentImageUnknown, "it is not known which image has the database agent: "+
			"the administrator of the operator sets database.agentImage in its configuration"), nil
	}
	r.in = input{
		db: db, agentImage: image, image: cmp.Or(db.Spec.Image, r.Images[db.Spec.Type]+":"+version),
		pullSecrets: r.PullSecrets, runAsUser: r.RunAsUser, operatorNamespace: r.Namespace, stopped: db.Spec.Suspended,
	}
	return engine.Done(), nil
}

// findServer reads the StatefulSet.
func (r *run) findServer(ctx context.Context) error {
	set := &appsv1.StatefulSet{}
	err := r.Client.Get(ctx, r.key(generationName(r.Obj)), set)
	if err == nil {
		set, err = engine.Whole(ctx, r.Live, set)
	}
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the StatefulSet: %w", err)
	case r.Owned(set):
		r.set = set
	}
	return nil
}

// readPassword reads the password that the spec has.
func (r *run) readPassword(ctx context.Context) (engine.Outcome, error) {
	r.fixed = r.Obj.Spec.Password
	ref := r.Obj.Spec.PasswordSecretRef
	if ref == nil {
		return engine.Done(), nil
	}
	key := cmp.Or(ref.Key, keyPassword)
	secret := &corev1.Secret{}
	exists, err := r.read(ctx, r.key(ref.Name), secret)
	if err != nil {
		return engine.Outcome{}, err
	}
	if r.fixed = string(secret.Data[key]); r.fixed != "" {
		return engine.Done(), nil
	}
	missing := fmt.Sprintf("the Secret %s, which spec.passwordSecretRef names, does not exist", ref.Name)
	if exists {
		missing = fmt.Sprintf("the Secret %s, which spec.passwordSecretRef names, has no key %s, or an empty one", ref.Name, key)
	}
	return engine.Block(ReasonPasswordMissing, missing+"; create it"), nil
}

// agentImage is the image that has the agent. A StatefulSet keeps the one that it has as long as operator and agent understand each
// other, so that an upgrade of the operator restarts no database; unless it cannot be pulled any more.
func (r *run) agentImage(ctx context.Context) (string, error) {
	now, err := r.AgentImage(ctx)
	if err != nil {
		return "", fmt.Errorf("determining the image of the agent: %w", err)
	}
	if r.set == nil || r.set.Spec.Template.Annotations[names.AnnotationProtocol] != protocol {
		return now, nil
	}
	running := meta.FindStatusCondition(r.Obj.Status.Conditions, Running)
	cannotPull := running != nil && running.Reason == ReasonAgentImagePullFailed
	for _, c := range r.set.Spec.Template.Spec.InitContainers {
		if c.Name == agentContainer && (now == "" || !cannotPull) {
			return c.Image, nil
		}
	}
	return now, nil
}
