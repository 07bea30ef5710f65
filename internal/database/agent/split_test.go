// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"fmt"
	"testing"
)

func TestSplit(t *testing.T) {
	for text, want := range map[string]string{
		"":                             "[]",
		"SELECT 1":                     "[{SELECT 1 1}]",
		"SELECT 1;\n\nSELECT ';' ; ":   "[{SELECT 1 1} {SELECT ';' 3}]",
		"-- a; b\nSELECT 1; # c; d\n;": "[{-- a; b\nSELECT 1 1}]",
		"SELECT 'it''s;', \"a;\\\";\", `b;``;`;/* x; */SELECT 2":  "[{SELECT 'it''s;', \"a;\\\";\", `b;``;` 1} {/* x; */SELECT 2 1}]",
		"DELIMITER //\nBEGIN a; b; END//\nDELIMITER ;\nSELECT 1;": "[{BEGIN a; b; END 2} {SELECT 1 4}]",
		"/*!40101 SET NAMES utf8 */;":                             "[{/*!40101 SET NAMES utf8 */ 1}]",
		"SELECT 1--1; SELECT 2":                                   "[{SELECT 1--1 1} {SELECT 2 1}]",
	} {
		got, err := split(text)
		if err != nil || fmt.Sprint(got) != want {
			t.Errorf("%q is split into %v (%v), want %s", text, got, err, want)
		}
	}
	if _, err := split("SELECT 'a"); err == nil {
		t.Error("an open quote is no error")
	}
	if !(statement{text: "set @a = 1"}).ofSession() || (statement{text: "SETTLE"}).ofSession() {
		t.Error("statements of the session are not recognized")
	}
}
