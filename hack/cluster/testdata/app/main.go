// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command app is what the pods of the tests run: a server, its client, and a writer of files.
package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: app serve | get URL | write FILE")
	}
	var err error
	switch verb, rest := os.Args[1], os.Args[2:]; {
	case verb == "serve":
		err = serve()
	case verb == "get" && len(rest) == 1:
		err = get(rest[0])
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
	hello := func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") }
	server := &http.Server{Addr: ":8080", Handler: http.HandlerFunc(hello), ReadHeaderTimeout: 5 * time.Second}
	return server.ListenAndServe()
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
