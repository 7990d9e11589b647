// Go's net/http with the routes of bench/echo, for ./dev bench-http. Debian's golang-go and pgx, nothing else.
package main

import (
	"context"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"

	"github.com/jackc/pgx/v4/pgxpool"
)

type amount struct {
	Currency string `json:"currency"`
	Centavos int64  `json:"centavos"`
}

type payer struct {
	Name   string `json:"name"`
	Email  string `json:"email"`
	Device string `json:"device"`
}

type item struct {
	Name     string `json:"name"`
	Quantity int64  `json:"quantity"`
	Centavos int64  `json:"centavos"`
}

type order struct {
	Reference   string  `json:"reference"`
	Description string  `json:"description"`
	Amount      amount  `json:"amount"`
	Payer       payer   `json:"payer"`
	Items       []item  `json:"items"`
	Repeated    bool    `json:"repeated"`
	Note        *string `json:"note"`
}

type row struct {
	ID          int64  `json:"id"`
	Reference   string `json:"reference"`
	Centavos    int64  `json:"centavos"`
	Description string `json:"description"`
}

type added struct {
	ID int64 `json:"id"`
}

func answer(writer http.ResponseWriter, status int, value interface{}) {
	body, err := json.Marshal(value)
	if err != nil {
		http.Error(writer, err.Error(), http.StatusInternalServerError)
		return
	}
	writer.Header().Set("Content-Type", "application/json")
	writer.WriteHeader(status)
	writer.Write(body)
}

// pool opens a pool of so many connections, each of which prepares a statement once.
func pool(url string, connections int32) *pgxpool.Pool {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		log.Fatal(err)
	}
	config.MaxConns = connections
	config.MinConns = connections
	opened, err := pgxpool.ConnectConfig(context.Background(), config)
	if err != nil {
		log.Fatal(err)
	}
	return opened
}

func main() {
	url := os.Getenv("DATABASE_URL")
	reads, writes := pool(url, 8), pool(url, 32)
	alive := []byte(`{"status":"ok"}`)

	http.HandleFunc("/static", func(writer http.ResponseWriter, request *http.Request) {
		writer.Header().Set("Content-Type", "application/json")
		writer.Write(alive)
	})
	http.HandleFunc("/echo", func(writer http.ResponseWriter, request *http.Request) {
		var document order
		decoder := json.NewDecoder(request.Body)
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&document); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		answer(writer, http.StatusOK, document)
	})
	http.HandleFunc("/rows/", func(writer http.ResponseWriter, request *http.Request) {
		id, err := strconv.ParseInt(request.URL.Path[len("/rows/"):], 10, 64)
		if err != nil {
			http.NotFound(writer, request)
			return
		}
		found := row{ID: id}
		err = reads.QueryRow(request.Context(),
			"SELECT reference, centavos, description FROM bench_rows WHERE id = $1", id).
			Scan(&found.Reference, &found.Centavos, &found.Description)
		if err != nil {
			http.NotFound(writer, request)
			return
		}
		answer(writer, http.StatusOK, found)
	})
	http.HandleFunc("/rows", func(writer http.ResponseWriter, request *http.Request) {
		var sent row
		if err := json.NewDecoder(request.Body).Decode(&sent); err != nil {
			http.Error(writer, err.Error(), http.StatusBadRequest)
			return
		}
		var made added
		err := writes.QueryRow(request.Context(),
			"INSERT INTO bench_added (reference, centavos, description) VALUES ($1, $2, $3) RETURNING id",
			sent.Reference, sent.Centavos, sent.Description).Scan(&made.ID)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		answer(writer, http.StatusCreated, made)
	})
	log.Fatal(http.ListenAndServe(os.Args[1], nil))
}
