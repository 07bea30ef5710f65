// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"github.com/go-logr/logr"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
)

// MaxVerbosity is the most that is logged. From the next level on client-go logs what it sends and gets, Secrets included.
const MaxVerbosity = 7

// NewLogger makes the operator's logger, which logs no more than MaxVerbosity.
func NewLogger(o zap.Options) logr.Logger {
	tooMuch := o.Level != nil && o.Level.Enabled(verbosity(MaxVerbosity+1))
	if tooMuch {
		o.Level = verbosity(MaxVerbosity)
	}
	log := zap.New(zap.UseFlagOptions(&o))
	if tooMuch {
		log.Info("Less is logged than --zap-log-level asks for: from 8 on the contents of Secrets would be logged, too", "level", MaxVerbosity)
	}
	return log
}

// verbosity is a level of logr as zap counts it.
func verbosity(v int8) zapcore.Level { return zapcore.Level(-v) }
