// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package webapp

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1alpha1 "github.com/acme/platform-operator/api/workloads/v1alpha1"
	"github.com/acme/platform-operator/internal/engine"
)

// connectionKey is a key of the Secret of a database, and the variable that it becomes.
type connectionKey struct{ variable, key, field string }

// connectionKeys are the keys that are taken from the Secret of a database.
func connectionKeys(ref *v1alpha1.DatabaseSecretReference) []connectionKey {
	if ref == nil {
		return nil
	}
	all := []connectionKey{
		{"DATABASE_HOST", ptr.Deref(ref.HostKey, "host"), "hostKey"},
		{"DATABASE_PORT", ptr.Deref(ref.PortKey, "port"), "portKey"},
		{"DATABASE_USER", ptr.Deref(ref.UsernameKey, "username"), "usernameKey"},
		{"DATABASE_PASSWORD", ptr.Deref(ref.PasswordKey, "password"), "passwordKey"},
		{"DATABASE_NAME", ptr.Deref(ref.DatabaseKey, "database"), "databaseKey"},
		{"DATABASE_URL", ptr.Deref(ref.URIKey, "uri"), "uriKey"},
	}
	return slices.DeleteFunc(all, func(k connectionKey) bool { return k.key == "" })
}

// environment are the variables of the application: those of its database come first, so that others can refer to them, and
// one of the same name in the spec replaces them.
func environment(spec v1alpha1.WebAppSpec) []corev1.EnvVar {
	var all []corev1.EnvVar
	for _, k := range connectionKeys(spec.DatabaseSecretRef) {
		if slices.ContainsFunc(spec.Env, func(v corev1.EnvVar) bool { return v.Name == k.variable }) {
			continue
		}
		all = append(all, corev1.EnvVar{Name: k.variable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: spec.DatabaseSecretRef.Name}, Key: k.key,
		}}})
	}
	return append(all, spec.Env...)
}

// lack is what of the connection to a database is missing, if anything is, and what can be done about it in the spec.
type lack struct{ what, advice string }

// lacking says what of the connection to the database is missing. Of the content it says which keys there are, and nothing of
// their values.
func lacking(ref *v1alpha1.DatabaseSecretReference, content map[string][]byte) lack {
	for _, k := range connectionKeys(ref) {
		if len(content[k.key]) == 0 {
			return lack{fmt.Sprintf("the Secret %s has no key %q, or an empty one", ref.Name, k.key), fmt.Sprintf(
				`; name the right key in spec.databaseSecretRef.%s, or set that to "" if there is none`, k.field)}
		}
	}
	return lack{}
}

func databaseKeys(a *v1alpha1.WebApp) []client.ObjectKey {
	if a.Spec.DatabaseSecretRef == nil {
		return nil
	}
	return []client.ObjectKey{{Namespace: a.Namespace, Name: a.Spec.DatabaseSecretRef.Name}}
}

// findDatabase reads what the connection to a database lacks.
func (r *run) findDatabase(ctx context.Context, ref *v1alpha1.DatabaseSecretReference) (lack, error) {
	if ref == nil {
		return lack{}, nil
	}
	secret := &corev1.Secret{}
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: r.Obj.Namespace, Name: ref.Name}, secret)
	if apierrors.IsNotFound(err) {
		return lack{what: fmt.Sprintf("the Secret %s does not exist", ref.Name)}, nil
	}
	if err != nil {
		return lack{}, fmt.Errorf("reading the Secret of the database: %w", err)
	}
	return lacking(ref, secret.Data), nil
}

// checkDatabase reports whether the application can be told how to reach its database.
func (r *run) checkDatabase(context.Context) (engine.Outcome, error) {
	switch ref := r.target.Spec.DatabaseSecretRef; {
	case ref == nil:
		return engine.Done().Saying("no database is asked for"), nil
	case r.lacks.what != "":
		return judgeLack(r.Obj, r.course, r.lacks), nil
	default:
		return engine.Done().Saying(fmt.Sprintf("the Secret %s has the connection to the database", ref.Name)), nil
	}
}

// judgeLack is the outcome while the revision that the pods are to be made from lacks the connection to its database. That of an
// earlier revision is not in the spec, so that only a user can tell what is to become of a rollback to it.
func judgeLack(app *v1alpha1.WebApp, c course, l lack) engine.Outcome {
	const stays = ". No pod of it starts before that; those that serve continue. "
	switch c.why {
	case byUser, byBoth:
		return engine.BlockFor(recheck, ReasonWaitingForDatabase, fmt.Sprintf(
			"spec.rollbackTo asks for revision %d, and %s", c.number, l.what)+stays+"Create it, choose another revision, or remove spec.rollbackTo")
	case byFailure:
		return engine.BlockFor(recheck, ReasonWaitingForDatabase, undone(app)+fmt.Sprintf(
			". Revision %d is to serve instead, and %s", c.number, l.what)+stays+"Create it, or change the spec")
	default:
		return engine.Wait(recheck, ReasonWaitingForDatabase, l.what+l.advice+". No pod of a new version starts before that; those that serve continue")
	}
}
