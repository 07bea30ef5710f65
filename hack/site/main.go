// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// The program site makes a website of the documentation: every Markdown page of docs, and every file of the repository that a
// page links to. It reads the same pages that people read on a git host, so nothing in them is written for it. The site needs no
// server, loads nothing from elsewhere, and has every link checked before it is written to its place.
//
// It is a program of 500 lines and not Hugo: that would need templates of the same size for what is different here (pages without
// front matter, links to files of the repository, anchors as a git host makes them, the check), and minutes of building.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
)

func main() {
	root := flag.String("root", "", "the root of the repository")
	to := flag.String("to", "", "the folder to write to; what is in it is removed")
	flag.Parse()
	if *root == "" || *to == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "--root and --to are required; positional arguments are not accepted")
		os.Exit(2)
	}
	n, err := build(*root, *to)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("%d pages in %s; all links and anchors exist\n", n, *to)
}

// build makes the site, checks it, and puts it in the place of the one before. It returns the number of pages.
func build(root, to string) (int, error) {
	s := &site{root: root, pages: map[string]*page{}}
	if err := s.read(); err != nil {
		return 0, err
	}
	next := to + ".next"
	if err := errors.Join(os.RemoveAll(next), s.write(next)); err != nil {
		return 0, err
	}
	if err := check(next); err != nil {
		return 0, err
	}
	return len(s.pages), errors.Join(os.RemoveAll(to), os.Rename(next, to))
}
