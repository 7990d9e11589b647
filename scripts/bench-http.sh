#!/usr/bin/env bash
# Measure the HTTP layer beside nginx, Go, Hummingbird, FastAPI and pgbench; writes bench/http.md.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/children.sh
. scripts/lib/toolchain.sh

peers=$local_directory/peers

main() {
    at_exit stop_children
    ensure_toolchain
    ensure_packages nginx-light wrk nghttp2-client strace golang-go golang-github-jackc-pgx-v4-dev python3 python3-venv
    build_programs EchoProgram
    build_peers
    measure http --programs "$programs" --peers "$peers" --rounds "${ROUNDS:-12}" "$@"
}

# What is compiled or installed of the servers that are compared, below .local.
build_peers() {
    mkdir -p "$peers"
    say "Building the Go server ..."
    # Debian keeps the sources of Go packages where GOPATH expects them.
    (cd bench/peers/go && attend env GO111MODULE=off GOPATH=/usr/share/gocode "GOCACHE=$peers/go-cache" \
        go build -o "$peers/go" .) || fail "the Go server could not be built; see above."
    attend swift build --configuration release --package-path bench/peers/hummingbird-server \
        --scratch-path "$peers/hummingbird" || fail "the build of the Hummingbird server failed; see above."
    make_python_environment "$peers/fastapi" bench/peers/fastapi/requirements.txt ||
        fail "FastAPI could not be installed; see above."
}

main "$@"
