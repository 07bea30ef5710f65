// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	barWidth = 30
	// perPackage is about what compiling a package of Kubernetes costs one processor. It is used for the first guess.
	perPackage  = 250 * time.Millisecond
	fewPackages = 50 // of which nothing needs to be said
)

// progress says how much is left to compile: on a terminal in a bar, elsewhere in a line for every tenth.
type progress struct {
	out  io.Writer
	live bool

	mu    sync.Mutex
	left  map[string]bool // packages that are still to be compiled
	total int
	done  int
	tenth int // said last
	start time.Time
}

func newProgress(out io.Writer, live bool) *progress {
	return &progress{out: out, live: live, left: map[string]bool{}, start: time.Now()}
}

// expect adds packages to what is to be compiled; one that is expected already is compiled once.
func (p *progress) expect(packages []goPackage) {
	for _, k := range packages {
		if !p.left[k.key()] {
			p.left[k.key()] = true
			p.total++
		}
	}
}

// expects reports whether a package is still to be compiled.
func (p *progress) expects(k goPackage) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.left[k.key()]
}

// compiled counts a package that was expected.
func (p *progress) compiled(k goPackage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.left[k.key()] {
		return
	}
	delete(p.left, k.key())
	p.done++
	if tenth := p.done * 10 / p.total; !p.live && p.total > fewPackages && tenth > p.tenth {
		p.tenth = tenth
		say(p.out, "  %s\n", p.text())
	}
}

// text says how far the work is and how long the rest will take at the present pace.
func (p *progress) text() string {
	spent := time.Since(p.start)
	text := fmt.Sprintf("%3d %%  %d of %d packages, %s", p.done*100/max(p.total, 1), p.done, p.total, minutes(spent))
	if p.done == p.total {
		return text + ", linking"
	}
	rest := time.Duration(p.total-p.done) * perPackage / time.Duration(runtime.NumCPU())
	if p.done > fewPackages {
		rest = spent * time.Duration(p.total-p.done) / time.Duration(p.done)
	}
	return text + ", about " + minutes(rest) + " left"
}

// show draws the bar until stop is called.
func (p *progress) show() (stop func(ok bool)) {
	if p.total > fewPackages {
		say(p.out, "  %d packages to compile: about %s on %d idle cores, and nothing the next time\n", p.total,
			minutes(time.Duration(p.total)*perPackage/time.Duration(runtime.NumCPU())), runtime.NumCPU())
	}
	quit, gone := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for p.live {
			select {
			case <-quit:
				return
			case <-ticker.C:
				p.draw()
			}
		}
	}()
	return func(ok bool) {
		close(quit)
		<-gone
		if p.live {
			say(p.out, "\r\x1b[K")
		}
		if ok && p.total > fewPackages {
			say(p.out, "  built after %s\n", minutes(time.Since(p.start)))
		}
	}
}

func (p *progress) draw() {
	p.mu.Lock()
	defer p.mu.Unlock()
	full := p.done * barWidth / max(p.total, 1)
	say(p.out, "\r\x1b[K  %s%s %s", strings.Repeat("█", full), strings.Repeat("░", barWidth-full), p.text())
}

// minutes is a duration as people say it.
func minutes(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	text := d.Round(10 * time.Second).String()
	if strings.HasSuffix(text, "m0s") {
		return strings.TrimSuffix(text, "0s")
	}
	return text
}

// goPackage is a package in a version.
type goPackage struct{ path, version string }

func (k goPackage) key() string { return k.path + "@" + k.version }

// compiled is what go build -v writes to: names of packages are counted, all else is kept.
type compiled struct {
	bar   *progress
	left  map[string]goPackage // packages of this build that are still to be compiled, by path
	done  func()               // called when there are none, and the programs are linked
	rest  []byte               // of a line that is not complete
	words bytes.Buffer
}

func newCompiled(bar *progress, expected []goPackage, done func()) *compiled {
	c := &compiled{bar: bar, left: map[string]goPackage{}, done: done}
	for _, k := range expected {
		if bar.expects(k) { // no other build has compiled it meanwhile
			c.left[k.path] = k
		}
	}
	if len(c.left) == 0 {
		done()
	}
	return c
}

// Write implements io.Writer.
func (c *compiled) Write(data []byte) (int, error) {
	c.rest = append(c.rest, data...)
	for {
		end := bytes.IndexByte(c.rest, '\n')
		if end < 0 {
			return len(data), nil
		}
		line := c.rest[:end+1]
		if k, expected := c.left[strings.TrimSpace(string(line))]; expected {
			delete(c.left, k.path)
			c.bar.compiled(k)
			if len(c.left) == 0 {
				c.done()
			}
		} else {
			c.words.Write(line)
		}
		c.rest = slices.Delete(c.rest, 0, end+1)
	}
}
