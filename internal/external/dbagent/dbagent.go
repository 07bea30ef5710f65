// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package dbagent is the port to the agents of databases, and its adapter over HTTP: what runs inside the pod of a database reports
// there how the server does, and which passwords are in force. Its answers are not trusted: a tenant may have written them.
package dbagent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/acme/platform-operator/internal/database/result"
)

const (
	// maxBody and maxText bound what is read of an answer, in bytes.
	maxBody = 64 << 10
	maxText = 300
	// maxAccounts is how many accounts the user of a database has, and maxEntries how many entries are read of any other list.
	maxAccounts = 2
	maxEntries  = 10
	// timeout bounds one call.
	timeout = 5 * time.Second
)

// Agent asks agents.
type Agent interface {
	// Status asks the agent at an address, HOST:PORT.
	Status(ctx context.Context, address string) (result.Status, error)
}

// HTTP asks over HTTP.
type HTTP struct{ client *http.Client }

// NewHTTP returns the adapter. dial connects; nil connects as usual.
func NewHTTP(dial func(ctx context.Context, network, address string) (net.Conn, error)) *HTTP {
	if dial == nil {
		dial = (&net.Dialer{Timeout: timeout}).DialContext
	}
	return &HTTP{&http.Client{
		Timeout:       timeout,
		Transport:     &http.Transport{DialContext: dial, DisableKeepAlives: true, MaxResponseHeaderBytes: maxBody},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("the agent redirects") },
	}}
}

// Status implements Agent.
func (h *HTTP) Status(ctx context.Context, address string) (s result.Status, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/status", nil)
	if err != nil {
		return s, err
	}
	answer, err := h.client.Do(request)
	if err != nil {
		return s, fmt.Errorf("asking the agent: %s", printable(err.Error())) // which may quote what was answered
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return s, fmt.Errorf("the agent answers %d", answer.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxBody+1))
	switch {
	case err != nil:
		return s, fmt.Errorf("reading the answer of the agent: %w", err)
	case len(body) > maxBody:
		return s, fmt.Errorf("the agent answers with more than %d bytes", maxBody)
	}
	if err := json.Unmarshal(body, &s); err != nil {
		return result.Status{}, errors.New("the agent's answer is no status")
	}
	if s.Protocol != result.Protocol {
		return result.Status{}, fmt.Errorf("the agent speaks protocol %d, not %d", s.Protocol, result.Protocol)
	}
	bound(&s)
	return s, nil
}

// bound shortens an answer to at most 11,000 characters: its texts become messages of conditions. Lists are copied, because a part of one
// keeps the whole.
func bound(s *result.Status) {
	for _, text := range []*string{&s.Phase, &s.Message, &s.ServerVersion, &s.StartedAt, &s.Door, &s.Restored, &s.Parameters.Error} {
		*text = printable(*text)
	}
	for _, list := range []*[]string{&s.Setups, &s.Parameters.PendingRestart} {
		*list = slices.Clone((*list)[:min(len(*list), maxEntries)])
		for i := range *list {
			(*list)[i] = printable((*list)[i])
		}
	}
	s.Accounts = slices.Clone(s.Accounts[:min(len(s.Accounts), maxAccounts)])
	for i := range s.Accounts {
		a := &s.Accounts[i]
		a.Slot, a.Name, a.Revision, a.Error = printable(a.Slot), printable(a.Name), printable(a.Revision), printable(a.Error)
	}
}

// printable returns the first maxText characters of a text, without control characters.
func printable(text string) string {
	var out []rune
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			r = ' '
		}
		if out = append(out, r); len(out) == maxText {
			break
		}
	}
	return string(out)
}
