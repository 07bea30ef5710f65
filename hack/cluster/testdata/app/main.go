// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command app is what the pods of the tests run: servers, their clients, and a writer of files.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: app serve | schedule | lead FILE... | get URL | load URL | write FILE")
	}
	var err error
	switch verb, rest := os.Args[1], os.Args[2:]; {
	case verb == "serve":
		err = serve()
	case verb == "schedule":
		err = schedule()
	case verb == "lead":
		err = lead(rest)
	case verb == "get" && len(rest) == 1:
		err = get(rest[0])
	case verb == "load" && len(rest) == 1:
		err = load(rest[0])
	case verb == "write" && len(rest) == 1:
		err = os.WriteFile(rest[0], []byte("written\n"), 0o600)
	default:
		err = fmt.Errorf("do not know how to %q", os.Args[1:])
	}
	if err != nil {
		log.Fatal(err)
	}
}

func serve() error {
	log.Print("serving")
	return listen(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
}

func listen(answer http.HandlerFunc) error {
	server := &http.Server{Addr: ":8080", Handler: answer, ReadHeaderTimeout: 5 * time.Second}
	return server.ListenAndServe()
}

// sighting is what a file has had since a time.
type sighting struct {
	File, Text string
	At         time.Time
}

// lead serves the name of its pod, and under /seen all that files have had since it started.
func lead(files []string) error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	var seen []sighting
	look := func(last map[string]string) {
		for _, file := range files {
			data, err := os.ReadFile(file)
			if was, known := last[file]; err != nil || known && was == string(data) {
				continue
			}
			last[file] = string(data)
			mu.Lock()
			seen = append(seen, sighting{file, string(data), time.Now()})
			mu.Unlock()
		}
	}
	go func() {
		last := map[string]string{}
		for ; ; time.Sleep(50 * time.Millisecond) {
			look(last)
		}
	}()
	return listen(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/seen" {
			fmt.Fprintln(w, name)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		_ = json.NewEncoder(w).Encode(seen)
	})
}

// rate is how many requests a second load sends.
const rate = 200

// counts is what became of the requests.
type counts struct {
	Seconds                 float64 // since the start
	Sent, Answers, Failures int
	First                   string        // failure
	Latest, Slowest         time.Duration // sent so long after it was due, and answered
}

// load sends 200 requests a second to url, each on a connection of its own, and serves what became of them. A request is sent when
// it is due, whatever became of those before; when the machine was busy, those that are overdue are sent at once.
func load(url string) error {
	var mu sync.Mutex
	var c counts
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	start := time.Now()
	once := func(due time.Time) {
		late := time.Since(due)
		err := ask(client, url)
		mu.Lock()
		defer mu.Unlock()
		c.Latest, c.Slowest = max(c.Latest, late), max(c.Slowest, time.Since(due))
		if err == nil {
			c.Answers++
			return
		}
		if c.Failures++; c.Failures == 1 {
			c.First = time.Now().UTC().Format(time.RFC3339Nano) + ": " + err.Error()
		}
	}
	go func() {
		for n := 0; ; n++ {
			due := start.Add(time.Duration(n) * time.Second / rate)
			time.Sleep(time.Until(due))
			mu.Lock()
			c.Sent++
			mu.Unlock()
			go once(due)
		}
	}()
	return listen(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		c.Seconds = time.Since(start).Seconds()
		_ = json.NewEncoder(w).Encode(c)
	})
}

// ask expects the answer of serve.
func ask(client http.Client, url string) error {
	response, err := client.Get(url)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != "hello\n" {
		err = fmt.Errorf("%s %q", response.Status, body)
	}
	return err
}

// get prints what url answers. It asks again for half a minute: names and addresses take a moment to be known.
func get(url string) (err error) {
	client := http.Client{Timeout: 5 * time.Second}
	ticker := time.NewTicker(200 * time.Millisecond)
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-ticker.C {
		var response *http.Response
		if response, err = client.Get(url); err == nil {
			defer func() { _ = response.Body.Close() }()
			_, err = io.Copy(os.Stdout, response.Body)
			return err
		}
	}
	return err
}
