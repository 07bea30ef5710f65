// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/acme/platform-operator/internal/database/result"
)

// Install copies the agent into a folder, with a passwd and a group file that have the user that it runs as: servers look their user up,
// and no image knows every number.
func Install(to string) error {
	if to == "" {
		return result.Errorf(result.InvalidInput, "no --to is given")
	}
	self, err := os.Open("/proc/self/exe")
	if err != nil {
		return fmt.Errorf("opening the agent: %w", err)
	}
	defer func() { _ = self.Close() }() // it was only read
	uid, gid := os.Getuid(), os.Getgid()
	passwd := "root:x:0:0:root:/root:/sbin/nologin\n"
	group := "root:x:0:\n"
	if uid != 0 {
		passwd += fmt.Sprintf("database:x:%d:%d:database:/tmp:/sbin/nologin\n", uid, gid)
	}
	if gid != 0 {
		group += fmt.Sprintf("database:x:%d:\n", gid)
	}
	return errors.Join(
		install(filepath.Join(to, "database-agent"), self, 0o555),
		os.WriteFile(filepath.Join(to, "passwd"), []byte(passwd), 0o644),
		os.WriteFile(filepath.Join(to, "group"), []byte(group), 0o644))
}

// install writes a file under another name and renames it, because a container that starts again may run it.
func install(path string, from io.Reader, mode os.FileMode) error {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode|0o200)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, from)
	return errors.Join(err, file.Chmod(mode), file.Close(), os.Rename(path+".new", path))
}

// AskStatus asks the agent of a server until the passwords of the wanted revisions are in force.
func AskStatus(ctx context.Context, o Options) (*result.Status, error) {
	if o.Host == "" {
		return nil, result.Errorf(result.InvalidInput, "no --host is given")
	}
	url := "http://" + net.JoinHostPort(o.Host, strconv.Itoa(o.AgentPort)) + "/status"
	var last *result.Status
	err := poll(ctx, 500*time.Millisecond, func() (bool, error) {
		s, err := getStatus(ctx, url)
		if err != nil {
			return o.Timeout == 0, result.Errorf(result.ServerUnreachable, "asking the agent at %s: %w", o.Host, err)
		}
		last = s
		for slot, revision := range o.WantRevisions {
			account := s.Account(slot)
			if account == nil || !account.InForce || account.Revision != revision {
				return o.Timeout == 0, result.Errorf(result.Failed, "revision %q of account %s is not in force", revision, slot)
			}
		}
		return true, nil
	})
	return last, err
}

func getStatus(ctx context.Context, url string) (_ *result.Status, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	var s result.Status
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&s); err != nil {
		return nil, err
	}
	return &s, nil
}
