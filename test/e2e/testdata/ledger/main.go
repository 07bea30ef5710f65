// Copyright 2026 The Acme Platform Operator Authors.
// SPDX-License-Identifier: Apache-2.0

// Command ledger is an application with a database, which keeps numbers there.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
)

const (
	patience = time.Minute
	again    = 200 * time.Millisecond
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: ledger migrate | serve | execute URL STATEMENT")
	}
	ctx, url := context.Background(), cmp.Or(os.Getenv("DATABASE_URL"), os.Getenv("uri")) // as a WebApp has it, and a Secret of a Database
	var err error
	switch verb, rest := os.Args[1], os.Args[2:]; {
	case verb == "migrate" && len(rest) == 0:
		err = execute(ctx, url, "CREATE TABLE IF NOT EXISTS numbers (number bigint PRIMARY KEY)")
	case verb == "serve" && len(rest) == 0:
		err = serve(ctx, url)
	case verb == "execute" && len(rest) == 2:
		err = execute(ctx, rest[0], rest[1])
	default:
		err = fmt.Errorf("do not know how to %q", os.Args[1:])
	}
	if err != nil {
		log.Fatal(err)
	}
}

// open connects to the database. It tries again for a minute: servers take a moment to start.
func open(ctx context.Context, url string) (*sql.DB, error) {
	db, err := sql.Open("pgx", url)
	if err != nil {
		return nil, err
	}
	ticker := time.NewTicker(again)
	defer ticker.Stop()
	for deadline := time.Now().Add(patience); ; <-ticker.C {
		if err = db.PingContext(ctx); err == nil || isRefusal(err) || time.Now().After(deadline) {
			return db, err
		}
	}
}

// isRefusal reports whether the server knows the user, or the password, not.
func isRefusal(err error) bool {
	var said *pgconn.PgError
	return errors.As(err, &said) && strings.HasPrefix(said.Code, "28")
}

func execute(ctx context.Context, url, statement string) error {
	db, err := open(ctx, url)
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, statement)
	return errors.Join(err, db.Close())
}

// serve writes the number N on POST /N, and answers when it is committed; GET / gives all numbers.
func serve(ctx context.Context, url string) error {
	db, err := open(ctx, url)
	if err != nil {
		return err
	}
	http.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		numbers, err := read(r.Context(), db)
		if answered(w, err) {
			_ = json.NewEncoder(w).Encode(numbers)
		}
	})
	http.HandleFunc("POST /{number}", func(w http.ResponseWriter, r *http.Request) {
		_, err := db.ExecContext(r.Context(), "INSERT INTO numbers VALUES ($1)", r.PathValue("number"))
		answered(w, err)
	})
	log.Print("serving")
	server := &http.Server{Addr: ":8080", ReadHeaderTimeout: 5 * time.Second}
	return server.ListenAndServe()
}

// answered says to the client what went wrong, if anything did.
func answered(w http.ResponseWriter, err error) bool {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
	return err == nil
}

func read(ctx context.Context, db *sql.DB) ([]int, error) {
	rows, err := db.QueryContext(ctx, "SELECT number FROM numbers")
	if err != nil {
		return nil, err
	}
	numbers := []int{}
	for rows.Next() {
		number := 0
		if err := rows.Scan(&number); err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	return numbers, rows.Err()
}
