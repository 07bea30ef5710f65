// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Images are the images of kube-scheduler that may be used, by minor version of Kubernetes 1.
type Images map[int]string

// variable is the environment variable that names an image of kube-scheduler.
var variable = regexp.MustCompile(`^RELATED_IMAGE_KUBE_SCHEDULER_1_([0-9]{1,4})=(.+)$`)

// ImagesOf returns the images that environment variables name: RELATED_IMAGE_KUBE_SCHEDULER_1_36 that of 1.36. Those of versions of
// which the plugins are not known are left out.
func ImagesOf(environment []string) Images {
	out := Images{}
	for _, e := range environment {
		if found := variable.FindStringSubmatch(e); found != nil {
			if minor, err := strconv.Atoi(found[1]); err == nil && minor >= oldest && minor <= newest {
				out[minor] = found[2]
			}
		}
	}
	return out
}

// MinorOf returns the minor version of a Kubernetes 1 API server, from the two fields of its version. Some providers write 36+.
func MinorOf(major, minor string) (int, error) {
	n, err := strconv.Atoi(strings.TrimRight(minor, "+"))
	if major != "1" || err != nil || n < 0 {
		return 0, fmt.Errorf("the API server has the version %q.%q, which is not one of Kubernetes 1", major, minor)
	}
	return n, nil
}

// For returns the image for an API server, and its minor version: the same one, or the one before. A scheduler must not be newer than
// the API server, nor more than one minor version older.
func (i Images) For(server int) (image string, minor int, ok bool) {
	for _, minor := range []int{server, server - 1} {
		if image := i[minor]; image != "" {
			return image, minor, true
		}
	}
	return "", 0, false
}

// String lists the versions, for messages.
func (i Images) String() string {
	if len(i) == 0 {
		return "none"
	}
	var all []string
	for _, minor := range slices.Sorted(maps.Keys(i)) {
		all = append(all, fmt.Sprintf("1.%d", minor))
	}
	return strings.Join(all, ", ")
}
