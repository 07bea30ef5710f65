// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	authuser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	genericapiserver "k8s.io/apiserver/pkg/server"

	"github.com/acme/platform-operator/internal/views/places"
	"github.com/acme/platform-operator/internal/views/storage"
)

const (
	// maxURL and maxHeaders bound what a request says, beside who asks. A watch keeps all of it, and its selectors once more: with as much
	// as a connection admits, the watches of one user would take more memory than a replica has.
	maxURL     = 8 << 10
	maxHeaders = 32 << 10
	// maxRequests is how many requests are answered at once, and maxRequestsOfOne how many of them one user may have: an answer with
	// 5,000 rows takes about 3 MB while it is written.
	maxRequests      = 50
	maxRequestsOfOne = 20
	// maxArrived is how many requests may have arrived, of all users together. Those that one user may not have are rejected quickly.
	maxArrived = 400
	// maxStreaming and maxStreamingOfOne are how many watches may be answered, with those that have ended and whose clients do not read the rest:
	// the storage, which counts those in progress, has given their places back.
	maxStreaming      = storage.MaxWatches + 200
	maxStreamingOfOne = 120
	// aggregator is who kube-apiserver is when it checks the API itself.
	aggregator = "system:kube-aggregator"
)

// handle is the library's chain of handlers behind one that rejects what no client of the views needs, and in front of one that is fair.
// Only what kube-apiserver forwards, and scrapes, reach the chain.
func (f *front) handle(handler http.Handler, c *genericapiserver.Config) http.Handler {
	chain := genericapiserver.DefaultBuildHandlerChain(fair(handler, c.LongRunningFunc), c)
	direct := f.direct(chain, handler)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if f.sources() != nil {
			// API servers keep their connection to a replica that is no longer ready. This ends it, and the next one leads to a ready replica.
			w.Header().Set("Connection", "close")
		}
		now := time.Now() //nolint:forbidigo // connections go by the real time
		limitTime(w, now, requestTimeout+sending)
		if isProbe(r) || !f.forwards(r) {
			direct.ServeHTTP(w, r)
			return
		}
		if f.rejects(w, r) {
			return
		}
		// The library logs what it cannot read, and a selector may say what nobody else must know.
		options, err := listOptions(r)
		if err != nil {
			reject(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
			return
		}
		if options.Watch {
			limitTime(w, now, longestWatch)
		}
		chain.ServeHTTP(w, r)
	})
}

// rejects answers what kube-apiserver has forwarded, but nothing here can answer.
func (f *front) rejects(w http.ResponseWriter, r *http.Request) bool {
	switch size, impersonates := f.headersOf(r, true); {
	case impersonates:
		reject(w, http.StatusForbidden, metav1.StatusReasonForbidden, "impersonation is not possible here; go through kube-apiserver")
	case len(r.RequestURI) > maxURL:
		reject(w, http.StatusRequestURITooLong, metav1.StatusReasonInvalid, "the URL is longer than 8 KiB; use a shorter selector")
	case size > maxHeaders:
		reject(w, http.StatusRequestHeaderFieldsTooLarge, metav1.StatusReasonRequestEntityTooLarge,
			"the headers are longer than 32 KiB; send only those that are needed")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		reject(w, http.StatusMethodNotAllowed, metav1.StatusReasonMethodNotAllowed, "views can only be read, by get, list and watch")
	case !isServed(r.URL.Path):
		reject(w, http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource")
	default:
		return false
	}
	return true
}

// reject answers as kube-apiserver does, so that clients show the message.
func reject(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: code, Reason: reason, Message: message,
	})
}

// headersOf is the size of what the client has sent as headers, without those by which kube-apiserver says who asks if it has forwarded
// the request. kube-apiserver impersonates, and passes on who is impersonated; the headers themselves arrive only from those who go
// around it.
func (f *front) headersOf(r *http.Request, forwarded bool) (size int, impersonates bool) {
	size = len(r.Host)
	for key, values := range r.Header {
		impersonates = impersonates || strings.HasPrefix(key, "Impersonate-")
		if forwarded && f.vouches(key) {
			continue
		}
		for _, v := range values {
			size += len(key) + len(v)
		}
	}
	return size, impersonates
}

// vouches reports whether a header is one by which kube-apiserver says who asks.
func (f *front) vouches(key string) bool {
	same := func(name string) bool { return strings.EqualFold(name, key) }
	return slices.ContainsFunc(f.headers.UsernameHeaders(), same) || slices.ContainsFunc(f.headers.UIDHeaders(), same) ||
		slices.ContainsFunc(f.headers.GroupHeaders(), same) ||
		slices.ContainsFunc(f.headers.ExtraHeaderPrefixes(), func(prefix string) bool {
			return len(key) >= len(prefix) && strings.EqualFold(prefix, key[:len(prefix)])
		})
}

// fair rejects more requests of one user than leave room for others. Watches are counted by the storage. The checks of kube-aggregator, and
// administrators, are not counted: while the API is not available to them, no namespace can be deleted.
func fair(next http.Handler, longRunning request.LongRunningRequestCheck) http.Handler {
	answering, streaming := places.New(maxRequests, maxRequestsOfOne), places.New(maxStreaming, maxStreamingOfOne)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		info, _ := request.RequestInfoFrom(r.Context())
		who, known := request.UserFrom(r.Context())
		if !known || isPrivileged(who) {
			next.ServeHTTP(w, r)
			return
		}
		room := answering
		if info != nil && longRunning(r, info) {
			room = streaming
		}
		free, ok := room.Take(who.GetName(), 1)
		if !ok {
			w.Header().Set("Retry-After", "1")
			reject(w, http.StatusTooManyRequests, metav1.StatusReasonTooManyRequests,
				"you have, or this server has, as many requests or watches as it can answer at once; try again")
			return
		}
		defer free()
		next.ServeHTTP(w, r)
	})
}

// isPrivileged reports whether a user is kube-aggregator, or may do anything.
func isPrivileged(u authuser.Info) bool {
	return u.GetName() == aggregator || slices.Contains(u.GetGroups(), authuser.SystemPrivilegedGroup)
}
