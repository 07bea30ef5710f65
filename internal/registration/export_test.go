// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package registration

import "time"

// NewPair makes a certificate and its key, in PEM.
func NewPair(n Names, now time.Time) (cert, key []byte) {
	p, err := newPair(n.hosts(), now)
	if err != nil {
		panic(err)
	}
	return p.Cert, p.Key
}

// NewAPIService is an empty APIService.
var NewAPIService = newAPIService
