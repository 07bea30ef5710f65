// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// MaxVerbosity is the highest level that is logged. Above it client-go logs requests and answers, Secrets
// included.
const MaxVerbosity = 7

// NewLogger returns the operator's logger, which logs at most at MaxVerbosity.
func NewLogger(o zap.Options) logr.Logger {
	tooMuch := o.Level != nil && o.Level.Enabled(verbosity(MaxVerbosity+1))
	if tooMuch {
		o.Level = verbosity(MaxVerbosity)
	}
	log := zap.New(zap.UseFlagOptions(&o))
	if tooMuch {
		log.Info("The level of --zap-log-level is reduced: from 8 on the contents of Secrets would be logged", "level", MaxVerbosity)
	}
	return log
}

// verbosity converts a level of logr into one of zap.
func verbosity(v int8) zapcore.Level { return zapcore.Level(-v) }
