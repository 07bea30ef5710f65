// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"net/http/httptest"
	"os"
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

func TestImagesOutliveTheRegistry(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "images")
	host, stop := open(t, folder)
	image, errImage := random.Image(512, 2)
	index, errIndex := random.Index(512, 1, 2) // an index is refused when its images are not there
	if errImage != nil || errIndex != nil {
		t.Fatal(errImage, errIndex)
	}
	for _, err := range []error{
		remote.Write(tagAt(t, host, "team/app:v1"), image),
		remote.WriteIndex(tagAt(t, host, "multi:v1"), index),
		remote.Write(tagAt(t, host, "gone:v1"), image),
		remote.Delete(tagAt(t, host, "gone:v1")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	stop()

	host, stop = open(t, folder)
	defer stop()
	got, err := remote.Image(tagAt(t, host, "team/app:v1"))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(got); err != nil || digestOf(t, got) != digestOf(t, image) {
		t.Errorf("the image is %s (%v), want %s", digestOf(t, got), err, digestOf(t, image))
	}
	if got, err := remote.Index(tagAt(t, host, "multi:v1")); err != nil || digestOf(t, got) != digestOf(t, index) {
		t.Errorf("the index: %v, %v", got, err)
	}
	if _, err := remote.Image(tagAt(t, host, "gone:v1")); err == nil {
		t.Error("an image that was deleted is back")
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

func TestATornLineIsForgotten(t *testing.T) {
	folder := t.TempDir()
	host, stop := open(t, folder)
	image, err := random.Image(64, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(tagAt(t, host, "app:v1"), image); err != nil {
		t.Fatal(err)
	}
	stop()
	path := filepath.Join(folder, "journal")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(bytes.Clone(whole), []byte(`{"method":"PU`)...), 0o600); err != nil {
		t.Fatal(err)
	}
	host, stop = open(t, folder)
	defer stop()
	if err := remote.Write(tagAt(t, host, "app:v2"), image); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(data, whole) || bytes.Count(data, []byte("\n")) != 2 || data[len(data)-1] != '\n' {
		t.Errorf("the journal is %q (%v), want two whole lines", data, err)
	}
}
