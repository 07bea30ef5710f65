// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package store

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/acme/platform-operator/internal/database/result"
)

// partSize is what an upload holds in memory. A server takes 10,000 parts: 160 GB of compressed data.
const partSize = 16 << 20

type bucket struct {
	client       *minio.Client
	name, prefix string
}

func openBucket(o Options) (Destination, error) {
	endpoint, err := parseEndpoint(o.Endpoint)
	if err != nil {
		return nil, err
	}
	if o.Bucket == "" {
		return nil, result.Errorf(result.InvalidInput, "no bucket is given")
	}
	login, err := login(o.CredentialsDir)
	if err != nil {
		return nil, err
	}
	transport, err := transport(o.CAFile, endpoint.Scheme == "https")
	if err != nil {
		return nil, err
	}
	style := minio.BucketLookupAuto
	if o.PathStyle {
		style = minio.BucketLookupPath
	}
	client, err := minio.New(endpoint.Host, &minio.Options{
		Creds: login, Secure: endpoint.Scheme == "https", Transport: transport, Region: o.Region, BucketLookup: style, MaxRetries: 5,
	})
	if err != nil {
		return nil, result.Errorf(result.InvalidInput, "the S3 server: %w", err)
	}
	return &bucket{client: client, name: o.Bucket, prefix: strings.Trim(path.Clean("/"+o.Prefix), "/")}, nil
}

func parseEndpoint(text string) (*url.URL, error) {
	endpoint, err := url.Parse(text)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "https" && endpoint.Scheme != "http" || strings.Trim(endpoint.Path, "/") != "" {
		return nil, result.Errorf(result.InvalidInput, "the endpoint %q is not https://HOST or http://HOST", text)
	}
	return endpoint, nil
}

func login(dir string) (*credentials.Credentials, error) {
	values := map[string]string{}
	for _, key := range []string{"accessKeyID", "secretAccessKey", "sessionToken"} {
		text, err := os.ReadFile(filepath.Join(dir, key))
		if err != nil && (key != "sessionToken" || !errors.Is(err, os.ErrNotExist)) {
			return nil, result.Errorf(result.KeyMissing, "the Secret of the destination lacks the key %s: %w", key, err)
		}
		values[key] = strings.TrimSpace(string(text))
	}
	return credentials.NewStaticV4(values["accessKeyID"], values["secretAccessKey"], values["sessionToken"]), nil
}

func transport(caFile string, secure bool) (*http.Transport, error) {
	t, err := minio.DefaultTransport(secure)
	if err != nil || caFile == "" || !secure {
		return t, err
	}
	text, err := os.ReadFile(caFile)
	if err != nil {
		return nil, result.Errorf(result.KeyMissing, "reading the authorities of the S3 server: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, result.Errorf(result.InvalidInput, "the authorities of the S3 server are no PEM certificates")
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

func (b *bucket) key(name string) string { return strings.TrimPrefix(b.prefix+"/"+name, "/") }

// reason gives an answer of the server its reason.
func (b *bucket) reason(err error) error {
	if err == nil {
		return nil
	}
	var had *result.Error
	if errors.As(err, &had) {
		return err
	}
	answer := minio.ToErrorResponse(err)
	switch {
	case answer.Code == "NoSuchKey" || answer.Code == "NotFound":
		return fmt.Errorf("%w: %w", ErrNotFound, err)
	case answer.Code == "NoSuchBucket":
		return result.Errorf(result.DestinationUnreachable, "the bucket %s does not exist: create it: %w", b.name, err)
	case slices.Contains([]string{"AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken"}, answer.Code):
		return result.Errorf(result.CredentialsRejected, "the S3 server rejects the credentials: %w", err)
	case answer.StatusCode == http.StatusInsufficientStorage,
		slices.Contains([]string{"XMinioStorageFull", "QuotaExceeded", "InsufficientCapacity"}, answer.Code):
		return result.Errorf(result.DestinationFull, "the S3 server is full: %w", err)
	default:
		return result.Errorf(result.DestinationUnreachable, "the S3 server: %w", err)
	}
}

type upload struct {
	*io.PipeWriter
	ended chan error
}

func (b *bucket) Create(ctx context.Context, name string) (Writer, error) {
	reader, writer := io.Pipe()
	u := &upload{PipeWriter: writer, ended: make(chan error, 1)}
	go func() {
		_, err := b.client.PutObject(ctx, b.name, b.key(name), reader, -1, minio.PutObjectOptions{
			PartSize: partSize, NumThreads: 1, ContentType: "application/octet-stream",
		})
		err = b.reason(err)
		_ = reader.CloseWithError(err) // the next write returns the error
		u.ended <- err
	}()
	return u, nil
}

// Commit sends the rest and has the server put the object together.
func (u *upload) Commit() error {
	_ = u.Close() // it never fails
	return <-u.ended
}

// Abort has the upload fail, which removes its parts.
func (u *upload) Abort() {
	_ = u.CloseWithError(errAborted)
	<-u.ended
}

var errAborted = errors.New("the backup was given up")

type object struct {
	*minio.Object
	b *bucket
}

func (o object) Read(p []byte) (int, error) {
	n, err := o.Object.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = o.b.reason(err)
	}
	return n, err
}

func (b *bucket) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	o, err := b.client.GetObject(ctx, b.name, b.key(name), minio.GetObjectOptions{})
	if err == nil {
		_, err = o.Stat()
	}
	if err != nil {
		return nil, b.reason(err)
	}
	return object{o, b}, nil
}

// Remove removes parts of uploads that never ended, too.
func (b *bucket) Remove(ctx context.Context, folder string) error {
	for _, name := range []string{manifestName, dataName} {
		key := b.key(folder + "/" + name)
		if err := b.reason(b.client.RemoveObject(ctx, b.name, key, minio.RemoveObjectOptions{})); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		if err := b.reason(b.client.RemoveIncompleteUpload(ctx, b.name, key)); err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
	}
	return nil
}

// Folders finds those with unfinished uploads, too.
func (b *bucket) Folders(ctx context.Context, folder string) (names []string, err error) {
	prefix := b.key(folder) + "/"
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	add := func(key string) {
		name, _, _ := strings.Cut(strings.TrimPrefix(key, prefix), "/")
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for o := range b.client.ListObjects(ctx, b.name, minio.ListObjectsOptions{Prefix: prefix, Recursive: false}) {
		if o.Err != nil {
			return nil, b.reason(o.Err)
		}
		add(o.Key)
	}
	for o := range b.client.ListIncompleteUploads(ctx, b.name, prefix, true) {
		if o.Err != nil {
			return nil, b.reason(o.Err)
		}
		add(o.Key)
	}
	return names, nil
}
