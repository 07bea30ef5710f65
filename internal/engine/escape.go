// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
)

// EscapeApplied escapes characters that JSON may have as they are and YAML may not. The API server reads what is applied as
// YAML: it would reject U+007F for a reason that nobody could act on, and change U+0085 into a space. It wraps the transport of
// the manager's rest.Config.
func EscapeApplied(next http.RoundTripper) http.RoundTripper { return escaper{next} }

type escaper struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. It leaves the request itself as it is.
func (e escaper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Header.Get("Content-Type") != string(types.ApplyYAMLPatchType) || req.Body == nil {
		return e.next.RoundTrip(req)
	}
	body, err := io.ReadAll(req.Body)
	if closeErr := req.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("reading what is to be applied: %w", err)
	}
	body = escapeForYAML(body)
	sent := req.Clone(req.Context())
	sent.ContentLength = int64(len(body))
	sent.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	sent.Body, _ = sent.GetBody() // which does not fail
	return e.next.RoundTrip(sent)
}

// escapeForYAML escapes what YAML does not count as printable, or as the end of a line, in a JSON text: there, such characters
// are only within strings. See the YAML specification, 5.1 and 5.4.
func escapeForYAML(text []byte) []byte {
	isSpecial := func(c rune) bool { return c >= 0x7f && c <= 0x9f || c == 0xfeff || c == 0xfffe || c == 0xffff }
	if !bytes.ContainsFunc(text, isSpecial) {
		return text
	}
	escaped := make([]byte, 0, len(text)+len(text)/8)
	for _, c := range string(text) {
		if isSpecial(c) {
			escaped = fmt.Appendf(escaped, `\u%04x`, c)
		} else {
			escaped = utf8.AppendRune(escaped, c)
		}
	}
	return escaped
}
