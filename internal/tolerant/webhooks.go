// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package tolerant

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

// maxReview is the largest review that is read, in bytes: the API server sends at most two objects of 3 MiB.
const maxReview = 7 << 20

// Webhooks is a server whose webhooks are called only with objects that can be decoded. A mutating webhook is
// called before the schema is checked, and each with the old object of a change, which an older schema may have
// admitted.
type Webhooks struct {
	webhook.Server
	Scheme *runtime.Scheme
}

// Register implements webhook.Server.
func (w Webhooks) Register(path string, hook http.Handler) {
	w.Server.Register(path, guard{w.Scheme, hook})
}

// guard answers for a webhook if an object cannot be decoded.
type guard struct {
	scheme *runtime.Scheme
	hook   http.Handler
}

// ServeHTTP implements http.Handler.
func (g guard) ServeHTTP(out http.ResponseWriter, in *http.Request) {
	body, err := io.ReadAll(io.LimitReader(in.Body, maxReview))
	if err != nil {
		http.Error(out, "the review cannot be read", http.StatusBadRequest)
		return
	}
	review := &admissionv1.AdmissionReview{}
	if json.Unmarshal(body, review) != nil || review.Request == nil {
		review.Request = &admissionv1.AdmissionRequest{}
	}
	for _, raw := range []runtime.RawExtension{review.Request.Object, review.Request.OldObject} {
		if err := g.vet(review.Request.Kind, raw.Raw); err != nil {
			g.allow(out, review, err)
			return
		}
	}
	in.Body = io.NopCloser(bytes.NewReader(body))
	g.hook.ServeHTTP(out, in)
}

// vet returns an error for an object that cannot be decoded.
func (g guard) vet(kind metav1.GroupVersionKind, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	into, err := g.scheme.New(schema.GroupVersionKind(kind))
	if err != nil {
		return nil //nolint:nilerr // The webhook handles foreign kinds itself.
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return err
	}
	return Decode(object, into)
}

// allow leaves the decision to the schema, which rejects new objects, and allows an object that an older schema
// admitted to be corrected and deleted.
func (g guard) allow(out http.ResponseWriter, review *admissionv1.AdmissionReview, reason error) {
	ctrl.Log.Info("A webhook was not called with an object that cannot be decoded",
		"kind", review.Request.Kind.Kind, "namespace", review.Request.Namespace, "name", review.Request.Name, "reason", reason.Error())
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true,
		Warnings: []string{"the operator cannot decode this object and does not reconcile it until it is corrected: " + reason.Error()},
	}
	review.Request = nil
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(review); err != nil {
		ctrl.Log.Error(err, "Cannot answer a review")
	}
}
