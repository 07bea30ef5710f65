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

// maxReview is the size of a review that is read: the API server sends at most two objects of 3 MiB.
const maxReview = 7 << 20

// Webhooks is a server whose webhooks are asked only about objects that can be decoded. A mutating webhook is asked before
// the schema, and each about the old object of a change, which an older schema may have admitted.
type Webhooks struct {
	webhook.Server
	Scheme *runtime.Scheme
}

// Register implements webhook.Server.
func (w Webhooks) Register(path string, hook http.Handler) {
	w.Server.Register(path, guard{w.Scheme, hook})
}

// guard answers for a webhook what that could not decode.
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

// vet refuses an object that cannot be decoded.
func (g guard) vet(kind metav1.GroupVersionKind, raw []byte) error {
	if len(raw) == 0 {
		return nil
	}
	into, err := g.scheme.New(schema.GroupVersionKind(kind))
	if err != nil {
		return nil //nolint:nilerr // The webhook knows what to do about a kind of somebody else.
	}
	object := map[string]any{}
	if err := utiljson.Unmarshal(raw, &object); err != nil {
		return err
	}
	return Decode(object, into)
}

// allow leaves the decision to the schema, which refuses what is new, and lets an object that an older one admitted be
// mended and deleted.
func (g guard) allow(out http.ResponseWriter, review *admissionv1.AdmissionReview, reason error) {
	ctrl.Log.Info("A webhook was not asked about an object that cannot be decoded",
		"kind", review.Request.Kind.Kind, "namespace", review.Request.Namespace, "name", review.Request.Name, "reason", reason.Error())
	review.Response = &admissionv1.AdmissionResponse{
		UID: review.Request.UID, Allowed: true,
		Warnings: []string{"the operator cannot read this object, and does nothing for it until that is mended: " + reason.Error()},
	}
	review.Request = nil
	out.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(out).Encode(review); err != nil {
		ctrl.Log.Error(err, "Cannot answer a review")
	}
}
