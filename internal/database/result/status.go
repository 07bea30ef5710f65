// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Phases of the verb run.
const (
	// Waiting is for the lock of another pod on the same data.
	Waiting      = "Waiting"
	Initializing = "Initializing"
	Starting     = "Starting"
	Running      = "Running"
	Stopping     = "Stopping"
)

// Status is what the verb run serves as /status.
type Status struct {
	Protocol int    `json:"protocol"`
	Phase    string `json:"phase"`
	// Message says what it waits for, or what is wrong.
	Message       string `json:"message,omitempty"`
	ServerVersion string `json:"serverVersion,omitempty"`
	// StartedAt is when the server began to answer, in UTC, RFC 3339.
	StartedAt string `json:"startedAt,omitempty"`
	Ready     bool   `json:"ready"`
	// Door is DoorOpen or DoorClosed, as recorded inside the database.
	Door       string     `json:"door,omitempty"`
	Accounts   []Account  `json:"accounts,omitempty"`
	Parameters Parameters `json:"parameters"`
	// Restored is the path of the backup that the database was made from.
	Restored string `json:"restored,omitempty"`
	// Setups are the hashes of setups that were completed.
	Setups  []string `json:"setups,omitempty"`
	Storage Storage  `json:"storage"`
}

// Account is one of the two accounts of the user.
type Account struct {
	// Slot is "a" or "b".
	Slot string `json:"slot"`
	Name string `json:"name"`
	// Login reports whether the account may log in now.
	Login bool `json:"login"`
	// Revision is that of the password that is in force inside the database.
	Revision string `json:"revision,omitempty"`
	// InForce reports whether the mounted password is the one inside the database.
	InForce bool   `json:"inForce"`
	Error   string `json:"error,omitempty"`
}

// Parameters are those of the server.
type Parameters struct {
	// InForce reports whether the mounted parameters are those of the server, apart from PendingRestart.
	InForce bool `json:"inForce"`
	// Error is why the server rejected them; then the last good ones are in force.
	Error string `json:"error,omitempty"`
	// PendingRestart are parameters that come into force when the server starts again.
	PendingRestart []string `json:"pendingRestart,omitempty"`
}

// Storage is the state of the volume, in bytes.
type Storage struct {
	Total    int64 `json:"total"`
	Free     int64 `json:"free"`
	Database int64 `json:"database"`
}

// Slots of the user's accounts.
const (
	SlotA = "a"
	SlotB = "b"
)

// Account returns the account of a slot, nil when it was not made yet.
func (s Status) Account(slot string) *Account {
	for i := range s.Accounts {
		if s.Accounts[i].Slot == slot {
			return &s.Accounts[i]
		}
	}
	return nil
}

// maxName is how long the name of an account can be: bytes in PostgreSQL, characters in MySQL.
func maxName(databaseType string) int {
	if databaseType == Postgres {
		return 63
	}
	return 32
}

// AccountName is the name of the account in a slot. That of the second is USER_b; a name that is too long for that is cut, and told
// apart by a digest.
func AccountName(databaseType, user, slot string) string {
	if slot == SlotA {
		return user
	}
	const suffix = "_b"
	if len(user)+len(suffix) <= maxName(databaseType) {
		return user + suffix
	}
	sum := sha256.Sum256([]byte(user))
	suffixed := "-" + hex.EncodeToString(sum[:4]) + suffix
	kept := user[:min(len(user), maxName(databaseType)-len(suffixed))]
	for !utf8.ValidString(kept) {
		kept = kept[:len(kept)-1]
	}
	return kept + suffixed
}

// CheckNames returns what is wrong with the names of a database and its user, or nil. The server decides about the rest.
func CheckNames(databaseType, database, user string) error {
	if databaseType != Postgres && databaseType != MySQL {
		return Errorf(InvalidInput, "the type %q is unknown: set %s or %s", databaseType, Postgres, MySQL)
	}
	if err := checkName("database", database, length(databaseType, database), maxDatabase); err != nil {
		return err
	}
	if err := checkName("user", user, length(databaseType, user), maxName(databaseType)); err != nil {
		return err
	}
	if isReserved(databaseType, user) {
		return Errorf(InvalidInput, "the user name %q is reserved: choose another", user)
	}
	if slices.Contains(reserved[databaseType], strings.ToLower(database)) {
		return Errorf(InvalidInput, "the database name %q is reserved: choose another", database)
	}
	return nil
}

// isReserved reports whether the agent or the server keeps the name of a user for itself.
func isReserved(databaseType, user string) bool {
	return user == Admin || user == Owner || databaseType == Postgres && (strings.HasPrefix(user, "pg_") || user == "public" || user == "none")
}

const maxDatabase = 63

func checkName(what, name string, length, most int) error {
	switch {
	case name == "":
		return Errorf(InvalidInput, "the %s has no name", what)
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return Errorf(InvalidInput, "the name of the %s is not UTF-8 text", what)
	case length > most:
		return Errorf(InvalidInput, "the name of the %s is %d long; %d is the most", what, length, most)
	}
	return nil
}

var reserved = map[string][]string{
	Postgres: {AdminDatabase, "template0", "template1"},
	MySQL:    {AdminDatabase, "mysql", "sys", "information_schema", "performance_schema", "lost+found"},
}

func length(databaseType, name string) int {
	if databaseType == Postgres {
		return len(name)
	}
	return utf8.RuneCountInString(name)
}

// byRows are the names of tables, those with the most rows first.
func byRows(rows map[string]int64) []string {
	return slices.SortedFunc(maps.Keys(rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(rows[b], rows[a]), strings.Compare(a, b))
	})
}
