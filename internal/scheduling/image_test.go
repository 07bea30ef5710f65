// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package scheduling

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestImagesOf(t *testing.T) {
	got := ImagesOf([]string{
		"PATH=/bin", "RELATED_IMAGE_KUBE_SCHEDULER_1_32=a:32", "RELATED_IMAGE_KUBE_SCHEDULER_1_36=b=c", "RELATED_IMAGE_KUBE_SCHEDULER_1_34=",
		"RELATED_IMAGE_KUBE_SCHEDULER_1_31=old", "RELATED_IMAGE_KUBE_SCHEDULER_1_38=new", "RELATED_IMAGE_KUBE_SCHEDULER_2_32=x",
		"RELATED_IMAGE_KUBE_SCHEDULER_1_3x=x", "XRELATED_IMAGE_KUBE_SCHEDULER_1_33=x",
	})
	if diff := cmp.Diff(Images{32: "a:32", 36: "b=c"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got.String() != "1.32, 1.36" || (Images{}).String() != "none" {
		t.Errorf("%s; %s", got, Images{})
	}
}

func TestMinorOf(t *testing.T) {
	for _, c := range []struct {
		major, minor string
		want         int
		ok           bool
	}{
		{"1", "36", 36, true},
		{"1", "35+", 35, true},
		{"2", "0", 0, false},
		{"1", "", 0, false},
		{"1", "x", 0, false},
		{"1", "-1", 0, false},
		{"", "", 0, false},
	} {
		got, err := MinorOf(c.major, c.minor)
		if got != c.want || (err == nil) != c.ok {
			t.Errorf("%s.%s: %d, %v", c.major, c.minor, got, err)
		}
	}
}

// TestFor: every second minor version is enough. No API server gets a scheduler that is newer, or two minor versions older.
func TestFor(t *testing.T) {
	every2nd := Images{32: "32", 34: "34", 36: "36"}
	for server, want := range map[int]string{31: "", 32: "32", 33: "32", 34: "34", 35: "34", 36: "36", 37: "36", 38: ""} {
		image, minor, ok := every2nd.For(server)
		if image != want || ok != (want != "") || ok && (minor > server || minor < server-1) {
			t.Errorf("1.%d gets %q (1.%d), %t", server, image, minor, ok)
		}
	}
	if image, minor, _ := (Images{35: "35", 36: "36"}).For(36); image != "36" || minor != 36 {
		t.Errorf("the same version is not preferred: %s", image)
	}
}
