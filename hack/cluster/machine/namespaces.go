// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"fmt"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// OwnNamespaces makes cmd, which has not been started, the first process of new namespaces: when it
// ends, the kernel kills all other processes in them, and what they mounted and the links that they
// made are gone. Nobody outside sees those mounts.
func OwnNamespaces(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID | syscall.CLONE_NEWNET
	cmd.SysProcAttr.Unshareflags |= syscall.CLONE_NEWNS // this way the new process also makes all its mounts private
}

// StartInside starts cmd in the namespaces of process pid.
func StartInside(pid int, cmd *exec.Cmd) error {
	handle, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return fmt.Errorf("finding process %d: %w", pid, err)
	}
	defer unix.Close(handle) //nolint:errcheck // it was only read
	onOwnThread(func() { err = enterAndStart(handle, cmd) })
	return err
}

// onOwnThread calls f on a thread that ends afterwards, and takes with it what f changed about the thread.
func onOwnThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // not unlocked: so the thread ends with this goroutine
		if unix.Gettid() == unix.Getpid() {
			// The main thread cannot end, and stands for the whole program in /proc. Hold it, so that another is taken.
			onOwnThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}

func enterAndStart(handle int, cmd *exec.Cmd) error {
	// A thread can change its mount namespace only when it shares its idea of the root folder with no other.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("preparing to enter the namespaces: %w", err)
	}
	if err := unix.Setns(handle, unix.CLONE_NEWPID|unix.CLONE_NEWNS|unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("entering the namespaces: %w", err)
	}
	return cmd.Start()
}
