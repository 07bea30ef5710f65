// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// open serves the images in folder until close is called.
func open(t *testing.T, folder string) (host string, stop func()) {
	t.Helper()
	handler, err := newHandler(folder)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	return strings.TrimPrefix(server.URL, "http://"), server.Close
}

func tagAt(t *testing.T, host, image string) name.Tag {
	t.Helper()
	tag, err := name.NewTag(host+"/"+image, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	return tag
}

func digestOf(t *testing.T, of interface{ Digest() (v1.Hash, error) }) v1.Hash {
	t.Helper()
	digest, err := of.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func TestWhatIsPushedCanBePulled(t *testing.T) {
	host, stop := open(t, filepath.Join(t.TempDir(), "images"))
	defer stop()
	index, err := random.Index(512, 1, 2)
	if err == nil {
		err = remote.WriteIndex(tagAt(t, host, "team/multi:v1"), index)
	}
	if err != nil {
		t.Fatal(err)
	}
	if got, err := remote.Index(tagAt(t, host, "team/multi:v1")); err != nil || digestOf(t, got) != digestOf(t, index) {
		t.Errorf("the index: %v, %v", got, err)
	}
}

func TestABareNameIsThatOfTheUsualRegistry(t *testing.T) {
	host, stop := open(t, t.TempDir())
	defer stop()
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tagAt(t, host, "app:v1"), image); err != nil {
		t.Fatal(err)
	}
	got, err := remote.Image(tagAt(t, host, "library/app:v1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(got); err != nil || digestOf(t, got) != digestOf(t, image) {
		t.Errorf("the image is %s (%v), want %s", digestOf(t, got), err, digestOf(t, image))
	}
	if _, err := remote.Image(tagAt(t, host, "team/app:v1")); err == nil {
		t.Error("another name gives the image too")
	}
}
