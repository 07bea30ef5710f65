// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command node-init is the first process of a real node, and of each pod's sandbox: it holds the
// namespaces and takes in orphans when they end. It ends when it is asked to. Its arguments mean
// nothing; they tell in a list of processes what it belongs to.
package main

import (
	"os"
	"os/signal"
	"syscall"
)

func main() { hold(listen()) }

// listen catches the signals that mean something here. Until it returns they do what they do by default.
func listen() <-chan os.Signal {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGCHLD, syscall.SIGTERM, syscall.SIGINT)
	return signals
}

// hold takes in orphans until it is asked to end.
func hold(signals <-chan os.Signal) {
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		reap()
	}
}

// reap takes in all orphans that have ended; several may share a signal.
func reap() {
	for {
		if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != nil || pid <= 0 {
			return
		}
	}
}
