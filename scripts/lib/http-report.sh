# What ./dev bench-http has to say, as Markdown. Every figure is a measured one.
# shellcheck shell=bash

declare -A titles=(
    [merchant]="this server, \`GET /livez\`" [echo]="its layers alone (\`bench/echo\`)" [nginx]="nginx"
    [go]="Go net/http" [hummingbird]="Hummingbird" [fastapi]="FastAPI on uvicorn" [pgbench]="pgbench"
)

write_http() {
    local section
    cat <<TEXT
# Results of \`./dev bench-http\`

Written by \`./dev bench-http\`, which measures all of it anew, side by side: every round measures all that is compared,
one after the other, for $round_seconds s each, and the order is turned round from one round to the next. There are
$rounds rounds. In brackets stands the interval that holds the true median with a confidence of at least 95 %, taken from
the order of the rounds (k-th least to k-th greatest) and so without a guess at how they are distributed. A ratio is that
of one round. A goal is met when its interval reaches it.

$(write_http_machine)

TEXT
    for section in "${sections[@]}"; do
        "write_$section"
        printf '\n'
    done | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}'
}

# goal WHAT NAME OPERATOR GOAL UNIT [FORMAT]: one line of a table of goals.
goal() {
    local sign='at least'
    [[ $3 == '>=' ]] || sign='at most'
    printf '| %s | %s%s | %s %s%s | %s |\n' "$1" "$(with_interval "$2" 1 "${6:-%.2f}")" "$5" "$sign" "$4" "$5" \
        "$(reached "$2" "$3" "$4")"
}

write_static() {
    local server
    cat <<TEXT
## Static answer

$many_connections connections, wrk. Of this server it is \`GET /livez\` of the real merchant, with all that a request to it
goes through; nginx answers with as many bytes from memory, without a log.

| goal | measured | | met |
|---|---|---|---|
$(goal "requests/s beside nginx" static_merchant_to_static_nginx_rate '>=' 1.0 "")
$(goal "processor time of a request beside nginx" static_merchant_to_static_nginx_us '<=' 0.95 "")
$(goal "system calls of a request, the waits for events shared among them included" calls_merchant '<=' 2.1 "")

| | requests/s | processor µs/request | p50 µs | p99 µs | this server has so many times its requests/s | system calls of a request |
|---|---|---|---|---|---|---|
$(for server in "${static_servers[@]}"; do
        printf '| %s | %s | %s | %s | %s | %s | %s |\n' "${titles[$server]}" "$(with_interval "static_${server}_rate")" \
            "$(with_interval "static_${server}_us" 1 %.2f)" "$(median "static_${server}_p50_us")" \
            "$(median "static_${server}_p99_us")" \
            "$(with_interval "static_merchant_to_static_${server}_rate" 1 %.2f)" "${calls_of[$server]}"
    done)
TEXT
}

write_alone() {
    local server
    cat <<TEXT
## One connection

The same answers on a single connection, wrk.

| goal | measured | | met |
|---|---|---|---|
$(goal "p50 beside nginx" alone_merchant_to_alone_nginx_p50_us '<=' 1.0 "")
$(goal "p99 beside nginx" alone_merchant_to_alone_nginx_p99_us '<=' 1.0 "")

| | requests/s | p50 µs | p99 µs |
|---|---|---|---|
$(for server in "${static_servers[@]}"; do
        printf '| %s | %s | %s | %s |\n' "${titles[$server]}" "$(with_interval "alone_${server}_rate")" \
            "$(with_interval "alone_${server}_p50_us")" "$(with_interval "alone_${server}_p99_us")"
    done)
TEXT
}

write_paced() {
    local server
    cat <<TEXT
## Fixed rate

The same answers at $((paced_rate * many_connections)) requests/s over $many_connections connections: $(calculate "$paced_share * 100") % of what h2load gets out of nginx
when it asks as fast as it can.

| goal | measured | | met |
|---|---|---|---|
$(goal "p99 beside nginx" paced_merchant_to_paced_nginx_p99_us '<=' 1.2 "")

| | p50 µs | p99 µs |
|---|---|---|
$(for server in merchant echo nginx; do
        printf '| %s | %s | %s |\n' "${titles[$server]}" "$(with_interval "paced_${server}_p50_us")" \
            "$(with_interval "paced_${server}_p99_us")"
    done)
TEXT
}

write_json() {
    local server
    cat <<TEXT
## JSON in, JSON out

$many_connections connections, wrk. A document of $(wc -c <bench/echo.json) bytes is read member by member, checked, and written anew: here by the
real parser, router and JSON module (\`bench/echo\`); by Go with encoding/json, by Hummingbird with Codable, by FastAPI with
pydantic. nginx gives its static answer to a GET.

| goal | measured | | met |
|---|---|---|---|
$(goal "requests/s beside nginx's static answer" json_echo_to_json_nginx_rate '>=' 0.85 "")
$(goal "requests/s beside Go" json_echo_to_json_go_rate '>=' 2 "")
$(goal "requests/s beside Hummingbird" json_echo_to_json_hummingbird_rate '>=' 4 "")

| | requests/s | processor µs/request | p50 µs | p99 µs | this one has so many times its requests/s |
|---|---|---|---|---|---|
$(for server in echo nginx go hummingbird fastapi; do
        printf '| %s | %s | %s | %s | %s | %s |\n' "${titles[$server]}" "$(with_interval "json_${server}_rate")" \
            "$(with_interval "json_${server}_us" 1 %.2f)" "$(median "json_${server}_p50_us")" \
            "$(median "json_${server}_p99_us")" "$(with_interval "json_echo_to_json_${server}_rate" 1 %.2f)"
    done)
TEXT
}

write_rows() {
    local side
    cat <<TEXT
## Rows

One SELECT by key, and one INSERT with synchronous commit, each a request over HTTP with JSON in the answer
($select_connections and $insert_connections connections of wrk; \`bench/echo\` through the project's Postgres module with the connections that the
merchant has; Go with pgx v4, 8 and 32 connections). pgbench sends the same statements, prepared, from the server's core
with 8 and 32 clients. PostgreSQL is alone with pgbench on the other core; with the servers it shares that core with wrk.

| goal | measured | | met |
|---|---|---|---|
$(goal "SELECT beside pgbench" select_echo_to_select_pgbench_rate '>=' 1.0 "")
$(goal "processor time of a SELECT" select_echo_us '<=' 11 " µs" %.1f)
$(goal "SELECT beside Go" select_echo_to_select_go_rate '>=' 1.5 "")
$(goal "INSERT beside pgbench" insert_echo_to_insert_pgbench_rate '>=' 0.95 "")
$(goal "INSERT beside Go" insert_echo_to_insert_go_rate '>=' 1.5 "")

| | SELECT/s | processor µs | p99 µs | INSERT/s | processor µs | p99 µs |
|---|---|---|---|---|---|---|
$(for side in echo go; do
        printf '| %s | %s | %s | %s | %s | %s | %s |\n' "${titles[$side]}" "$(with_interval "select_${side}_rate")" \
            "$(with_interval "select_${side}_us" 1 %.1f)" "$(median "select_${side}_p99_us")" \
            "$(with_interval "insert_${side}_rate")" "$(with_interval "insert_${side}_us" 1 %.1f)" \
            "$(median "insert_${side}_p99_us")"
    done)
| pgbench | $(with_interval select_pgbench_rate) | | | $(with_interval insert_pgbench_rate) | | |
TEXT
}

write_tls() {
    cat <<TEXT
## TLS

Processor time of one request: of this project's client, certificates checked, against nginx on the other core; and of
\`bench/echo\` over TLS. A handshake stands for a connection with one request. Both sides take TLS 1.3 and an EC
certificate (P-256); nginx says of every connection of the client's whether its session was resumed.

| goal | measured | | met |
|---|---|---|---|
$(goal "client: a request on a connection that stays" client_kept_us '<=' 12 " µs" %.1f)
$(goal "client: a resumed handshake beside a full one" client_resumed_to_client_full_us '<=' 0.4 "")
$(goal "server: a request on a connection that stays" server_kept_us '<=' 12 " µs" %.1f)

| | kept connection, µs | full handshake, µs | resumed handshake, µs | resumed beside full |
|---|---|---|---|---|
$(for side in client server; do
        printf '| %s | %s | %s | %s | %s |\n' "$side" "$(with_interval "${side}_kept_us" 1 %.1f)" \
            "$(with_interval "${side}_full_us")" "$(with_interval "${side}_resumed_us")" \
            "$(with_interval "${side}_resumed_to_${side}_full_us" 1 %.2f)"
    done)
TEXT
}

write_auth() {
    cat <<TEXT
## With a token

Two requests to the merchant that end alike, with the same 404: \`POST /v1/widget-token\` where widget tokens are turned
off, which first reads whose token it is, counts the user's requests and those under way; and
\`GET /.well-known/apple-app-site-association\` where there is none, which asks for no token. $many_connections connections, wrk.

| goal | measured | | met |
|---|---|---|---|
$(goal "what the token costs" auth_more_us '<=' 1.5 " µs")

| | requests/s | processor µs/request |
|---|---|---|
| without a token | $(with_interval auth_without_rate) | $(with_interval auth_without_us 1 %.2f) |
| with one | $(with_interval auth_with_rate) | $(with_interval auth_with_us 1 %.2f) |
TEXT
}

write_http_machine() {
    local commit
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit="none yet"
    if [[ -n $(git status --porcelain 2>/dev/null) ]]; then commit+=", with changes that are not committed"; fi
    cat <<TEXT
- commit: $commit
- taken: $(date --utc '+%Y-%m-%d %H:%M') UTC, at a load of $load_before before it began
- machine: $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1), $(nproc --all) cores, kernel $(uname -r)
- versions: $(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/Swift \1/p'), PostgreSQL $(query 'SHOW server_version'), $("$(nginx_program)" -v 2>&1 | sed 's/.*: //'), $(go version | cut -d ' ' -f 3) with pgx $(dpkg-query --show --showformat='${Version}' golang-github-jackc-pgx-v4-dev), Hummingbird $(peer_version hummingbird), $(sed -n 's/^\(fastapi\|uvicorn\)==/\1 /p' bench/peers/fastapi/requirements.txt | paste --serial --delimiters=, | sed 's/,/, /g') with uvloop and httptools, $(wrk_version), $(h2load --version), $(openssl version | cut -d ' ' -f 1-2)
- placement: the server that is measured on core $server_processor, with one thread for its work; the load generator and PostgreSQL on core $other_processor
- database: fsync $(query 'SHOW fsync'), synchronous_commit $(query 'SHOW synchronous_commit'), in a new cluster below
  $(dirname "$scratch") ($(findmnt --noheadings --output FSTYPE,SOURCE --target "$scratch" | tr -s ' '))
TEXT
}

# peer_version PACKAGE: the one that the Hummingbird server was built with.
peer_version() {
    sed -n "/\"identity\" : \"$1\"/,/\"version\"/s/.*\"version\" : \"\(.*\)\"/\1/p" bench/peers/hummingbird-server/Package.resolved
}
