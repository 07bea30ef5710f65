// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package sqldb

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync/atomic"
	"syscall"
	"time"
)

var (
	// ErrTooLarge is the error of a connection on which the server sends more than MaxValue at once.
	ErrTooLarge = errors.New("the answer is too large")
	// errForbidden is the error of connecting to a forbidden address.
	errForbidden = errors.New("the address is forbidden")
	// errBeyond is the error of connecting to an address that the namespace may not reach.
	errBeyond = fmt.Errorf("%w by the NetworkPolicies of the namespace", errForbidden)
	// errUnjudged is the error of connecting when it cannot be determined whether the address is forbidden.
	errUnjudged = errors.New("it is not known whether the address is forbidden")
)

// Dialer connects to servers. It checks the address that a name was resolved to at the moment of connecting, so
// that a name whose address changes cannot evade the check.
type Dialer struct {
	// Allow are networks that may be connected to although they are forbidden by default: loopback, link-local
	// (where clouds serve credentials), multicast and unspecified addresses, and those in Deny.
	Allow []netip.Prefix
	// Deny are networks that are forbidden in addition to these.
	Deny []netip.Prefix
	// Reach reports whether pods of a namespace may reach an address. nil means that they may.
	Reach func(ctx context.Context, namespace string, to netip.AddrPort) (bool, error)
}

// Line connects to one source, on behalf of one namespace.
type Line struct {
	dialer    *Dialer
	namespace string
	overflows atomic.Int64
}

// For returns a line on behalf of a namespace.
func (d *Dialer) For(namespace string) *Line { return &Line{dialer: d, namespace: namespace} }

// Dial connects to an address.
func (l *Line) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: 30 * time.Second}
	dialer.ControlContext = func(ctx context.Context, _, address string, _ syscall.RawConn) error {
		return l.dialer.permit(ctx, l.namespace, address)
	}
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &bounded{Conn: conn, overflows: &l.overflows}, nil
}

// Overflows counts the connections that were closed because the server sent too much.
func (l *Line) Overflows() int64 { return l.overflows.Load() }

func (d *Dialer) permit(ctx context.Context, namespace, address string) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return errForbidden
	}
	ip := embedded(at.Addr().Unmap().WithZone(""))
	if !within(d.Allow, ip) && (within(d.Deny, ip) || reserved(ip)) {
		return errForbidden
	}
	if d.Reach == nil {
		return nil
	}
	reaches, err := d.Reach(ctx, namespace, netip.AddrPortFrom(ip, at.Port()))
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", errUnjudged, err)
	case !reaches:
		return errBeyond
	default:
		return nil
	}
}

// reserved reports whether an address is reserved: no database server has it, clouds serve credentials at it,
// or its destination is unknown.
func reserved(ip netip.Addr) bool {
	return within(metadata, ip) || localNAT64.Contains(ip) ||
		ip.IsLoopback() || ip.IsUnspecified() || ip.IsMulticast() || ip.IsLinkLocalUnicast()
}

// metadata are the addresses outside the link-local networks at which clouds serve credentials.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::254/128"),      // AWS
	netip.MustParsePrefix("fd20:ce::254/128"),       // Google Cloud
	netip.MustParsePrefix("168.63.129.16/32"),       // Azure
	netip.MustParsePrefix("192.0.0.192/32"),         // Oracle Cloud, of old
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"), // Oracle Cloud
	netip.MustParsePrefix("100.100.100.200/32"),     // Alibaba Cloud
}

// embedded returns the IPv4 address that a gateway would derive from an IPv6 address, or the address itself.
func embedded(ip netip.Addr) netip.Addr {
	b := ip.As16()
	switch {
	case ip.IsLoopback(), ip.IsUnspecified(): // they are in the network of compatible addresses, too
		return ip
	case nat64.Contains(ip), compatible.Contains(ip):
		return netip.AddrFrom4([4]byte(b[12:]))
	case sixToFour.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6]))
	default:
		return ip
	}
}

var (
	nat64 = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	// localNAT64 are the networks of gateways whose administrators choose the position of the IPv4 address in
	// them (RFC 8215).
	localNAT64 = netip.MustParsePrefix("64:ff9b:1::/48")
	compatible = netip.MustParsePrefix("::/96")     // RFC 4291, section 2.5.5.1
	sixToFour  = netip.MustParsePrefix("2002::/16") // RFC 3056
)

func within(networks []netip.Prefix, ip netip.Addr) bool {
	for _, n := range networks {
		if n.Contains(ip) {
			return true
		}
	}
	return false
}

// bounded is a connection that limits what the server may send between two requests.
type bounded struct {
	net.Conn
	said      atomic.Int64
	overflows *atomic.Int64
}

// Read implements net.Conn.
func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.Conn.Read(p)
	// Room for the protocol around the value.
	if b.said.Add(int64(n)) > MaxValue+1<<16 {
		b.overflows.Add(1)
		_ = b.Close()
		return 0, ErrTooLarge
	}
	return n, err
}

// Write implements net.Conn.
func (b *bounded) Write(p []byte) (int, error) {
	b.said.Store(0)
	return b.Conn.Write(p)
}

// TLSConfig returns the configuration for connections to a source, nil when they are not encrypted.
func TLSConfig(s Source) (*tls.Config, error) {
	if s.TLS.Disabled {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: s.Host}
	if s.TLS.ServerName != "" {
		c.ServerName = s.TLS.ServerName
	}
	if s.TLS.CA != "" {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM([]byte(s.TLS.CA)) {
			return nil, &Error{Reason: Invalid, Message: "the certificate authorities in source.tls.caSecretRef hold no certificate in PEM form"}
		}
	}
	return c, nil
}

// Connecting explains an error of connecting that does not come from the server. The message does not
// distinguish why there is no connection, so that authors of policies cannot use it to scan for hosts and
// ports; the detail, which is for the operator's log, does.
func Connecting(err error, s Source) *Error {
	at := net.JoinHostPort(s.Host, fmt.Sprint(s.Port))
	switch {
	case errors.Is(err, errForbidden) && net.ParseIP(s.Host) != nil:
		return &Error{Reason: Forbidden, Message: at + " may not be connected to: " + forbiddance(err)}
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return &Error{Reason: Insecure, Message: fmt.Sprintf("the certificate of %s cannot be verified: %s", at, certificateFault(err))}
	case errors.As(err, new(tls.AlertError)), errors.As(err, new(tls.RecordHeaderError)):
		return &Error{Reason: Insecure, Message: "the TLS handshake with " + at + " failed"}
	default:
		return &Error{Reason: Unreachable, Message: "cannot connect to " + at + ": the host does not exist, does not answer, or may not be " +
			"connected to from this namespace; check source.host and source.port", Detail: networkFault(err)}
	}
}

// forbiddance returns why an address is forbidden, and who can allow it.
func forbiddance(err error) string {
	if errors.Is(err, errBeyond) {
		return "the NetworkPolicies of this namespace keep its pods from it; allow it in network.toCIDRs or network.toNamespaces of the " +
			"namespace's DeploymentTier, or in a NetworkPolicy, or give another source.host"
	}
	return "loopback, link-local and metadata addresses, the API server and deniedNetworks are rejected; give another source.host, or ask an " +
		"administrator to add it to rebootPolicy.allowedNetworks in the operator's configuration"
}

func certificateFault(err error) string {
	switch {
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "it is signed by an unknown authority; give the authority in source.tls.caSecretRef"
	case errors.As(err, new(x509.HostnameError)):
		return "it is for another name; give that name in source.tls.serverName"
	case errors.As(err, new(x509.CertificateInvalidError)):
		return "it has expired or may not be used for this"
	default:
		return "it is not valid"
	}
}

func networkFault(err error) string {
	for _, own := range []error{errBeyond, errForbidden, errUnjudged} {
		if errors.Is(err, own) {
			return own.Error()
		}
	}
	dns, netErr := (*net.DNSError)(nil), net.Error(nil)
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no such host"
	case errors.As(err, &dns):
		return "the name cannot be resolved"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "the connection was refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "there is no route"
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return "no answer in time"
	default:
		return "the connection broke"
	}
}
