// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package store keeps backups: in a folder or in a bucket of an S3 server, compressed, hashed and if wanted encrypted on the way, with
// little memory whatever their size.
package store

import (
	"context"
	"errors"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
)

// Options name a destination: a folder, or a bucket.
type Options struct {
	Dir string

	// Endpoint is the URL of an S3 server.
	Endpoint, Bucket, Prefix, Region string
	PathStyle                        bool
	// CAFile has the authorities to verify the server with; the system's without it.
	CAFile string
	// CredentialsDir has accessKeyID, secretAccessKey and maybe sessionToken.
	CredentialsDir string
}

// Names of what a backup consists of.
const (
	dataName     = "data.zst"
	manifestName = "manifest.json"
)

// ErrNotFound says that a destination has no object of that name.
var ErrNotFound = errors.New("it does not exist")

// Destination is where backups are. Names are relative, with slashes. Errors have reasons of the package result.
type Destination interface {
	// Create begins an object that exists when Commit returns nil.
	Create(ctx context.Context, name string) (Writer, error)
	// Open reads an object; ErrNotFound if there is none.
	Open(ctx context.Context, name string) (io.ReadCloser, error)
	// Remove removes what is below a folder, the manifest first; nothing is no error.
	Remove(ctx context.Context, folder string) error
	// Folders lists the folders in a folder; none if that does not exist.
	Folders(ctx context.Context, folder string) ([]string, error)
}

// Writer writes an object.
type Writer interface {
	io.Writer
	// Commit makes the object exist, durably.
	Commit() error
	// Abort leaves nothing.
	Abort()
}

// Open returns the destination that options name.
func Open(o Options) (Destination, error) {
	switch {
	case o.Dir != "" && o.Endpoint != "":
		return nil, result.Errorf(result.InvalidInput, "a folder and an S3 endpoint are given: give one")
	case o.Dir != "":
		return openFolder(o.Dir)
	case o.Endpoint != "":
		return openBucket(o)
	default:
		return nil, result.Errorf(result.InvalidInput, "no destination is given")
	}
}

// timeFormat is how the name of a backup begins.
const timeFormat = "20060102T150405Z"

var pathPattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?/[a-z0-9]([a-z0-9.-]*[a-z0-9])?/([0-9]{8}T[0-9]{6}Z)-[a-z0-9]+$`)

// CheckPath returns what is wrong with the path of a backup, NAMESPACE/DATABASE/TIME-UID, or nil.
func CheckPath(path string) error {
	if !pathPattern.MatchString(path) || strings.Contains(path, "..") {
		return result.Errorf(result.InvalidInput, "the path %q is not NAMESPACE/DATABASE/YYYYMMDDTHHMMSSZ-UID", path)
	}
	return nil
}

// Sweep removes backups of the same database as path that were begun before a time and never completed. It returns their paths.
func Sweep(ctx context.Context, d Destination, path string, before time.Time) (swept []string, err error) {
	parent := path[:strings.LastIndexByte(path, '/')]
	names, err := d.Folders(ctx, parent)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		other := parent + "/" + name
		match := pathPattern.FindStringSubmatch(other)
		if other == path || match == nil {
			continue
		}
		if at, err := time.Parse(timeFormat, match[3]); err != nil || !at.Before(before) {
			continue
		}
		if _, err := ReadManifest(ctx, d, other); result.ReasonOf(err) != result.NotFound {
			continue // it is a backup, or nobody can tell
		}
		if err := d.Remove(ctx, other); err != nil {
			return swept, err
		}
		swept = append(swept, other)
	}
	return swept, nil
}
