// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	internalscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/acme/platform-operator/api/views/v1alpha1"
	"github.com/acme/platform-operator/internal/views/storage"
)

const (
	// sending is how long an answer may take to be sent, beside the time for making it. A client that reads nothing does not keep its place.
	sending = 5 * time.Second
	// longestWatch is more than the storage lets a watch last.
	longestWatch = 13 * time.Minute
)

var (
	// groupVersionPath is where the views are.
	groupVersionPath = "/apis/" + v1alpha1.GroupVersion.String()
	// otherPaths are those that are served beside the views.
	otherPaths = slices.Concat(probes, described, []string{metricsPath, "/openapi/v2", "/openapi/v3"}, openAPIPaths())
	// described are those that OpenAPI describes.
	described = []string{"/apis", "/apis/" + v1alpha1.GroupVersion.Group, groupVersionPath, "/version"}
)

func openAPIPaths() (paths []string) {
	for _, p := range described {
		paths = append(paths, "/openapi/v3"+p)
	}
	return paths
}

// isServed reports whether there may be something at a path. The library counts requests by their path, and keeps the counts for ever: it
// must get no path that a client has made up.
func isServed(path string) bool {
	view, row, found := splitPath(path)
	if !found {
		return slices.Contains(otherPaths, strings.TrimSuffix(path, "/"))
	}
	return len(row) <= maxName && !strings.Contains(row, "/") &&
		slices.ContainsFunc(storage.Views(), func(v storage.View) bool { return v.Resource == view })
}

// limitTime ends an answer that the client does not read.
func limitTime(w http.ResponseWriter, now time.Time, limit time.Duration) {
	answer := http.NewResponseController(w)
	_ = answer.SetReadDeadline(now.Add(limit))
	_ = answer.SetWriteDeadline(now.Add(limit))
}

// listOptions are what a request for a collection asks for. Requests for other paths have none.
func listOptions(r *http.Request) (*internalversion.ListOptions, error) {
	options := &internalversion.ListOptions{}
	if _, row, found := splitPath(r.URL.Path); !found || row != "" {
		return options, nil
	}
	err := internalscheme.ParameterCodec.DecodeParameters(r.URL.Query(), metav1.SchemeGroupVersion, options)
	return options, err
}

// splitPath gives the view and the row that a path names, if it can be one of a view.
func splitPath(path string) (view, row string, found bool) {
	rest, found := strings.CutPrefix(path, groupVersionPath+"/")
	view, row, _ = strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	return view, row, found && view != ""
}
