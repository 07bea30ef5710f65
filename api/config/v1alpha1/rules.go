// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// defaultTo sets an empty value.
func defaultTo[T ~string](value *T, to T) {
	if *value == "" {
		*value = to
	}
}

// defaultPointer sets what was left out; an explicit zero is kept for validation.
func defaultPointer[T any](value **T, to T) {
	if *value == nil {
		*value = &to
	}
}

func defaultDuration(value **Duration, to time.Duration) {
	defaultPointer(value, Duration{to})
}

func invalidDuration(path *field.Path, d *Duration, detail string) *field.Error {
	return field.Invalid(path, d.String(), detail)
}

func positive(path *field.Path, d *Duration) field.ErrorList {
	if d.Duration <= 0 {
		return field.ErrorList{invalidDuration(path, d, "must be more than 0s")}
	}
	return nil
}

// atMost requires a duration that is more than 0 and at most a limit. why ends the sentence of the error.
func atMost(path *field.Path, d *Duration, most time.Duration, why string) field.ErrorList {
	if errs := positive(path, d); errs != nil {
		return errs
	}
	if d.Duration > most {
		return field.ErrorList{invalidDuration(path, d, fmt.Sprintf("must be at most %s, %s", most, why))}
	}
	return nil
}

func oneTo(path *field.Path, value, most int32) field.ErrorList {
	if value < 1 || value > most {
		return field.ErrorList{field.Invalid(path, value, fmt.Sprintf("must be between 1 and %d", most))}
	}
	return nil
}

func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	if value == "" {
		return field.ErrorList{field.Required(path, fmt.Sprintf("must be %q", allowed[0]))}
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// validatable is a pointer to a block of the configuration.
type validatable[B any] interface {
	*B
	validate(path *field.Path) field.ErrorList
}

// member checks one block of a union: it must be set if, and only if, its type is selected.
func member[T ~string, B any, P validatable[B]](path *field.Path, chosen, own T, name string, block P) field.ErrorList {
	switch {
	case chosen == own && block == nil:
		return field.ErrorList{field.Required(path.Child(name), fmt.Sprintf("required when type is %s", own))}
	case chosen == own:
		return block.validate(path.Child(name))
	case block != nil:
		return field.ErrorList{field.Forbidden(path.Child(name),
			fmt.Sprintf("allowed with type %s only, but type is %s: change the type or remove the block", own, chosen))}
	}
	return nil
}

// parseURL returns the parsed URL, or nil and what is wrong with it. The error does not repeat a URL that may
// carry a secret in a user, password or query: secrets belong in a Secret.
func parseURL(path *field.Path, text string, schemes ...string) (*url.URL, field.ErrorList) {
	example := schemes[0] + "://host"
	if text == "" {
		return nil, field.ErrorList{field.Required(path, "such as "+example)}
	}
	if strings.ContainsAny(text, "@?#") {
		return nil, field.ErrorList{field.Forbidden(path, "must not contain a user, password, query or fragment")}
	}
	u, err := url.Parse(text)
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Hostname() == "" {
		return nil, field.ErrorList{field.Invalid(path, text,
			fmt.Sprintf("must be a URL that begins with %s://, such as %s", strings.Join(schemes, ":// or "), example))}
	}
	return u, nil
}

// secureURL checks an HTTP address. If a token is sent, it must be https; a loopback host is excepted, because
// what is sent there does not leave the machine.
func secureURL(path *field.Path, text string, sendsToken bool) field.ErrorList {
	u, errs := parseURL(path, text, "https", "http")
	if u != nil && u.Scheme == "http" && sendsToken && !isLoopback(u.Hostname()) {
		errs = append(errs, field.Invalid(path, text, "must be https://, because a token is sent (http:// is accepted for a loopback host only)"))
	}
	return errs
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
