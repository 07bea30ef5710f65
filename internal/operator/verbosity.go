/*
Copyright 2026 The Acme Platform Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

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
func verbosity(v int) zapcore.Level { return zapcore.Level(-v) }
