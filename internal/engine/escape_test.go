// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// received is what the API server gets.
type received struct{ body, again string }

func (r *received) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil || int64(len(body)) != req.ContentLength {
		return nil, io.ErrUnexpectedEOF
	}
	r.body = string(body)
	if req.GetBody != nil {
		once, _ := req.GetBody()
		more, _ := io.ReadAll(once)
		r.again = string(more)
	}
	return &http.Response{Body: http.NoBody}, nil
}

func send(t *testing.T, server *received, req *http.Request) {
	t.Helper()
	answer, err := EscapeApplied(server).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWhatIsAppliedArrives: every character that a string of JSON may have is read by a YAML parser as it was.
func TestWhatIsAppliedArrives(t *testing.T) {
	var all strings.Builder
	for c := rune(0); c < 0x11000; c++ {
		if utf8.ValidRune(c) {
			all.WriteRune(c)
		}
	}
	for _, text := range []string{"", "plain", "x\u007fy", "a\u0085b", "\ufeffmark", "\U0001f600", `back\slash "quoted"`, all.String()} {
		sent, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		server := &received{}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://x/", strings.NewReader(string(sent)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", string(types.ApplyYAMLPatchType))
		send(t, server, req)
		if server.again != server.body {
			t.Errorf("a repetition sends %.40q", server.again)
		}
		var got map[string]string
		if err := yaml.Unmarshal([]byte(server.body), &got); err != nil || len(got) != 1 || got["a"] != text {
			t.Errorf("%.40q does not arrive: %v", text, err)
		}
	}
}

func TestOtherRequestsAreSentAsTheyAre(t *testing.T) {
	server := &received{}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPatch, "http://x/", strings.NewReader("{\"a\":\"\u007f\"}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", string(types.MergePatchType))
	if send(t, server, req); !strings.Contains(server.body, "\u007f") {
		t.Errorf("sent %q", server.body)
	}
}
