// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package cloudevents

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"syscall"
)

// whyUnreached returns the reason for a status why there was no answer: see billing.Failure.
func whyUnreached(err error) string {
	switch {
	case isTimeout(err):
		return "no answer in time"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case is[*net.DNSError](err):
		return "its host name cannot be resolved"
	case errors.Is(err, http.ErrSchemeMismatch), is[tls.RecordHeaderError](err):
		return "TLS: the server does not support it"
	case is[x509.UnknownAuthorityError](err):
		return "TLS: its certificate is from an authority that is not trusted; check caConfigMap"
	case is[x509.HostnameError](err):
		return "TLS: its certificate is for another host"
	case is[*tls.CertificateVerificationError](err):
		return "TLS: its certificate is not valid"
	case isRemoteAlert(err):
		return "TLS: the server refused the handshake"
	default:
		return "the connection failed"
	}
}

// whyRejected returns the reason for a status why an answer is a failure.
func whyRejected(code int) string {
	if code/100 == 3 {
		return fmt.Sprintf("a redirect (status %d), which is not followed; configure the address that it leads to", code)
	}
	return fmt.Sprintf("status %d %s", code, http.StatusText(code))
}

func isTimeout(err error) bool {
	var e net.Error
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &e) && e.Timeout()
}

// isRemoteAlert reports whether the server ended the handshake: crypto/tls has no type of its own for that.
func isRemoteAlert(err error) bool {
	e, ok := errors.AsType[*net.OpError](err)
	return ok && e.Op == "remote error"
}

// is reports whether an error is, or wraps, one of a type.
func is[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}
