// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package localcluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/acme/platform-operator/hack/cluster/machine"
)

// guestGrace is how long a guest may take to end: an operator hands its lease over.
const guestGrace = 15 * time.Second

// Down ends the cluster's processes and removes its folder with everything in it. A cluster that
// does not exist is no error, and one that never got to run is removed as well.
func Down(ctx context.Context, stateDir, name string, out io.Writer) error {
	dir, err := folder(stateDir, name)
	if err != nil {
		return err
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		say(out, "there is no cluster %s\n", name)
		return nil
	}
	unlock, err := lockState(ctx, stateDir, out)
	if err != nil {
		return err
	}
	defer unlock()
	c := &Cluster{dir: dir, record: record{Name: name}}
	if err := c.end(ctx); err != nil {
		return err
	}
	say(out, "cluster %s is gone\n", name)
	return nil
}

// guests lists the programs of others that run in the cluster's folder, such as an operator. They stop first.
func (c *Cluster) guests() ([]string, error) {
	entries, err := os.ReadDir(c.path("pids"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading what runs: %w", err)
	}
	var names []string
	for _, entry := range entries {
		if !slices.Contains(componentNames, entry.Name()) {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

// endGuests stops what runs in the cluster's folder and is no part of the cluster.
func (c *Cluster) endGuests() error {
	guests, err := c.guests()
	if err != nil {
		return err
	}
	for _, guest := range guests {
		if err := c.process(guest).Stop(guestGrace); err != nil {
			return err
		}
	}
	return nil
}

// end stops everything and removes every trace. It does not go by the cluster's record, which may be what is broken.
func (c *Cluster) end(ctx context.Context) error {
	isReal := c.isReal()
	if isReal {
		if err := machine.RequireRoot(); err != nil {
			return fmt.Errorf("cluster %s: %w", c.Name(), err)
		}
	}
	if err := c.endGuests(); err != nil {
		return err
	}
	for _, component := range slices.Backward(componentNames) {
		if err := c.process(component).Stop(stopGrace); err != nil {
			return err
		}
	}
	if isReal {
		if err := c.releaseMachine(ctx); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(c.dir); err != nil {
		return fmt.Errorf("removing cluster %s: %w", c.Name(), err)
	}
	return nil
}
