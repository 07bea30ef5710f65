// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
)

// serve answers probes and questions; nothing that it says is secret, and nothing can be changed by it.
func (r *runner) serve(ctx context.Context) (stop func(), err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", r.HTTPAddress)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", r.HTTPAddress, err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", r.answerReady)
	mux.HandleFunc("GET /status", r.answerStatus)
	mux.HandleFunc("GET /metrics", r.answerMetrics)
	s := &http.Server{Handler: mux, ReadTimeout: 10 * time.Second, WriteTimeout: 30 * time.Second, MaxHeaderBytes: 16 << 10}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.Log.Error("Serving probes", "error", err.Error())
		}
	}()
	return func() {
		_ = s.Close() // the process ends
		<-ended
	}, nil
}

func (r *runner) current() result.Status {
	r.mu.Lock()
	s := r.status
	r.mu.Unlock()
	return s
}

func (r *runner) answerReady(w http.ResponseWriter, request *http.Request) {
	s := r.current()
	if s.Ready {
		ctx, cancel := context.WithTimeout(request.Context(), 2*time.Second)
		defer cancel()
		if err := r.admin.db.PingContext(ctx); err != nil {
			s.Ready, s.Message = false, "the server does not answer"
		}
	}
	if !s.Ready {
		http.Error(w, s.Phase+": "+s.Message, http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

func (r *runner) answerStatus(w http.ResponseWriter, request *http.Request) {
	s := r.current()
	s.Storage = r.storage()
	if s.Ready {
		ctx, cancel := context.WithTimeout(request.Context(), 5*time.Second)
		defer cancel()
		if size, _, _, err := r.engine.Sizes(ctx, r.admin.db, r.Names.Database); err == nil {
			s.Storage.Database = size
		}
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(s); err != nil {
		r.Log.Error("Answering", "error", err.Error())
	}
}

// answerMetrics writes the text format of Prometheus. What cannot be asked is left out.
func (r *runner) answerMetrics(w http.ResponseWriter, request *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	gauge := func(name, help string, value float64) {
		fmt.Fprintf(w, "# HELP %s %s\n# TYPE %s gauge\n%s %g\n", name, help, name, name, value)
	}
	up, s := 0.0, r.current()
	if s.Ready {
		ctx, cancel := context.WithTimeout(request.Context(), 5*time.Second)
		defer cancel()
		size, connections, oldest, err := r.engine.Sizes(ctx, r.admin.db, r.Names.Database)
		if err == nil {
			up = 1
			gauge("database_size_bytes", "Size of the database.", float64(size))
			gauge("database_connections", "Connections of users.", float64(connections))
			gauge("database_oldest_transaction_seconds", "Age of the oldest transaction of a user.", oldest)
		}
	}
	storage := r.storage()
	gauge("database_up", "Whether the server answers.", up)
	gauge("database_data_total_bytes", "Size of the volume.", float64(storage.Total))
	gauge("database_data_free_bytes", "Free bytes of the volume.", float64(storage.Free))
}
