// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Package result has what the database agent and the operator exchange: results of Jobs in termination messages, the status of a running
// server, names, ports and paths. It imports the standard library only, so that the operator gets no drivers with it.
package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Protocol is the version of what is exchanged. It rises when an older operator would misread a newer agent, or the reverse.
const Protocol = 1

// MaxMessage is how long a termination message may be, in bytes; Kubernetes cuts longer ones.
const MaxMessage = 4096

// Accounts and databases that the agent makes for itself. Users must not have these names.
const (
	// Admin is the agent's own account.
	Admin = "acme_agent"
	// Owner is the role that owns a PostgreSQL database; it cannot log in.
	Owner = "acme_owner"
	// AdminDatabase is where the agent keeps its records.
	AdminDatabase = "acme_agent"
)

// Where a pod has things, unless a flag says otherwise.
const (
	DataDir        = "/data"
	RunDir         = "/run/database"
	AccountsDir    = "/etc/database/accounts"
	ParametersDir  = "/etc/database/parameters"
	TLSDir         = "/etc/database/tls"
	SetupDir       = "/etc/database/setup"
	CredentialsDir = "/etc/database/s3"
	EncryptionDir  = "/etc/database/encryption"
	File           = "/dev/termination-log"
	ScratchDir     = "/tmp"
	AgentPort      = 8090
	PostgresPort   = 5432
	MySQLPort      = 3306
)

// Types of databases.
const (
	Postgres = "postgres"
	MySQL    = "mysql"
)

// Reasons of failures, in one word for conditions.
const (
	Failed                 = "Failed"
	ServerUnreachable      = "ServerUnreachable"
	DestinationUnreachable = "DestinationUnreachable"
	DestinationFull        = "DestinationFull"
	CredentialsRejected    = "CredentialsRejected"
	DeadlineExceeded       = "DeadlineExceeded"
	DumpFailed             = "DumpFailed"
	RestoreFailed          = "RestoreFailed"
	SetupFailed            = "SetupFailed"
	DoorNotClosed          = "DoorNotClosed"
	InvalidInput           = "InvalidInput"
	NotFound               = "NotFound"
	WrongEngine            = "WrongEngine"
	NewerVersion           = "NewerVersion"
	KeyMissing             = "KeyMissing"
	ExtensionMissing       = "ExtensionMissing"
	Corrupted              = "Corrupted"
	NotEmpty               = "NotEmpty"
	Occupied               = "Occupied"
	Mismatch               = "Mismatch"
	// StorageFull is why a server ends, or does not start, on a volume without room.
	StorageFull = "StorageFull"
)

// Exit codes of the agent.
const (
	ExitOK        = 0
	ExitFailed    = 1
	ExitInput     = 2
	ExitCorrupted = 3
	ExitConflict  = 4
	ExitMismatch  = 5
)

// ExitCode is the exit code that belongs to a reason. Only ExitFailed may be cured by a repetition.
func ExitCode(reason string) int {
	switch reason {
	case "":
		return ExitOK
	case InvalidInput, NotFound, WrongEngine, NewerVersion, KeyMissing, ExtensionMissing:
		return ExitInput
	case Corrupted:
		return ExitCorrupted
	case NotEmpty, Occupied:
		return ExitConflict
	case Mismatch:
		return ExitMismatch
	default:
		return ExitFailed
	}
}

// Error is a failure with a reason for conditions.
type Error struct {
	Reason string
	Err    error
}

// Error returns the message, without the reason.
func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf makes an Error; the format is that of fmt.Errorf.
func Errorf(reason, format string, args ...any) error {
	return &Error{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// ReasonOf is the reason of the outermost Error in a chain, Failed when there is none, and empty for nil.
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Reason
	}
	return Failed
}

// Result is what a Job reports in its termination message.
type Result struct {
	Protocol int     `json:"protocol"`
	Verb     string  `json:"verb"`
	OK       bool    `json:"ok"`
	Reason   string  `json:"reason,omitempty"`
	Message  string  `json:"message,omitempty"`
	Seconds  float64 `json:"seconds"`

	Backup  *Backup  `json:"backup,omitempty"`
	Restore *Restore `json:"restore,omitempty"`
	Setup   *Setup   `json:"setup,omitempty"`
	Migrate *Migrate `json:"migrate,omitempty"`
	Door    *Door    `json:"door,omitempty"`
	Status  *Status  `json:"status,omitempty"`
}

// Retryable reports whether a repetition may help.
func (r Result) Retryable() bool { return ExitCode(r.Reason) == ExitFailed }

// How a backup was verified.
const (
	VerifiedChecksum = "Checksum"
	VerifiedRestore  = "Restore"
)

// Backup is what the verb backup reports.
type Backup struct {
	// Path is the folder of the backup below the destination's prefix.
	Path string `json:"path"`
	// SHA256 is that of the stored bytes, in hexadecimal.
	SHA256 string `json:"sha256"`
	// Size is the number of stored bytes, PlainSize that of the dump.
	Size      int64 `json:"size"`
	PlainSize int64 `json:"plainSize"`
	// StartedAt and CompletedAt are in UTC, RFC 3339.
	StartedAt     string `json:"startedAt"`
	CompletedAt   string `json:"completedAt"`
	ServerVersion string `json:"serverVersion"`
	Tables        int    `json:"tables"`
	// Rows is the number of rows in all tables at the moment of the dump, -1 when they could not be counted.
	Rows int64 `json:"rows"`
	// RowsPerTable has the tables that the message has room for.
	RowsPerTable map[string]int64 `json:"rowsPerTable,omitempty"`
	Encrypted    bool             `json:"encrypted"`
	// Verified is VerifiedChecksum or VerifiedRestore.
	Verified string `json:"verified"`
	// Already says that an earlier run had completed the backup.
	Already bool `json:"already,omitempty"`
}

// Restore is what the verb restore reports.
type Restore struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	Tables int    `json:"tables"`
	Rows   int64  `json:"rows"`
	// Already says that an earlier run had completed the restore.
	Already bool `json:"already,omitempty"`
}

// Setup is what the verb setup reports.
type Setup struct {
	Hash  string `json:"hash"`
	Files int    `json:"files"`
	// Already says that this content had been run before.
	Already bool `json:"already,omitempty"`
	// File and Line are where it failed; the line is 0 when the server did not say.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
}

// Migrate is what the verb migrate reports.
type Migrate struct {
	Tables         int      `json:"tables"`
	Rows           int64    `json:"rows"`
	CopySeconds    float64  `json:"copySeconds"`
	CompareSeconds float64  `json:"compareSeconds"`
	SourceVersion  string   `json:"sourceVersion"`
	TargetVersion  string   `json:"targetVersion"`
	Differences    []string `json:"differences,omitempty"`
}

// States of the door.
const (
	DoorOpen   = "open"
	DoorClosed = "closed"
)

// Door is what the verb door reports.
type Door struct {
	State string `json:"state"`
	// Ended is how many sessions were ended.
	Ended int `json:"ended"`
}

// Decode reads a termination message.
func Decode(message string) (Result, error) {
	var r Result
	if err := json.Unmarshal([]byte(message), &r); err != nil {
		return Result{}, fmt.Errorf("reading the agent's result: %w", err)
	}
	if r.Protocol != Protocol {
		return Result{}, fmt.Errorf("reading the agent's result: its protocol is %d, want %d", r.Protocol, Protocol)
	}
	if r.OK != (r.Reason == "") {
		return Result{}, fmt.Errorf("reading the agent's result: ok is %t with reason %q", r.OK, r.Reason)
	}
	return r, nil
}

// Encode makes a termination message of at most MaxMessage bytes: it leaves out tables, differences and the begin of the message, in
// this order, until the result fits.
func (r Result) Encode() []byte {
	r.Protocol, r.OK = Protocol, r.Reason == ""
	r.Message = strings.ToValidUTF8(r.Message, "?")
	for {
		text, err := json.Marshal(r)
		if err == nil && len(text) <= MaxMessage || !r.shrink() {
			return text
		}
	}
}

// shrink makes the result smaller; false when nothing can be left out.
func (r *Result) shrink() bool {
	switch {
	case r.Backup != nil && len(r.Backup.RowsPerTable) > 0:
		b := *r.Backup
		b.RowsPerTable = half(b.RowsPerTable)
		r.Backup = &b
	case r.Migrate != nil && len(r.Migrate.Differences) > 1:
		m := *r.Migrate
		m.Differences = m.Differences[:len(m.Differences)/2]
		r.Migrate = &m
	case len(r.Message) > 0:
		r.Message = strings.ToValidUTF8(r.Message[(len(r.Message)+1)/2:], "")
	default:
		return false
	}
	return true
}

// half keeps the tables with the most rows.
func half(rows map[string]int64) map[string]int64 {
	names := byRows(rows)
	kept := map[string]int64{}
	for _, name := range names[:len(names)/2] {
		kept[name] = rows[name]
	}
	return kept
}
