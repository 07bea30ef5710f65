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
	left  map[string]int // how often a package is still to be compiled
	total int
	done  int
	tenth int // said last
	start time.Time
}

func newProgress(out io.Writer, live bool) *progress {
	return &progress{out: out, live: live, left: map[string]int{}, start: time.Now()}
}

// expect adds packages to what is to be compiled.
func (p *progress) expect(packages []string) {
	for _, name := range packages {
		p.left[name]++
		p.total++
	}
}

// compiled counts a package, and tells whether line names one that was expected.
func (p *progress) compiled(line string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left[line] == 0 {
		return false
	}
	p.left[line]--
	p.done++
	if tenth := p.done * 10 / p.total; !p.live && p.total > fewPackages && tenth > p.tenth {
		p.tenth = tenth
		say(p.out, "  %s\n", p.text())
	}
	return true
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

// compiled is what go build -v writes to: names of packages are counted, all else is kept.
type compiled struct {
	bar   *progress
	rest  []byte // of a line that is not complete
	words bytes.Buffer
}

// Write implements io.Writer.
func (c *compiled) Write(data []byte) (int, error) {
	c.rest = append(c.rest, data...)
	for {
		end := bytes.IndexByte(c.rest, '\n')
		if end < 0 {
			return len(data), nil
		}
		if line := c.rest[:end+1]; !c.bar.compiled(strings.TrimSpace(string(line))) {
			c.words.Write(line)
		}
		c.rest = slices.Delete(c.rest, 0, end+1)
	}
}
