#!/usr/bin/env bash
# Have testssl.sh and sslyze grade the server's https; writes bench/tls.md, and fails on anything unwanted.
set -euo pipefail

cd "$(dirname "$0")/.."
. scripts/lib/common.sh
. scripts/lib/ports.sh
. scripts/lib/toolchain.sh
. scripts/lib/postgres.sh
. scripts/lib/contract-world.sh

tools=$local_directory/tls
scratch=

main() {
    case ${1:-} in
    '' | --skip-build) ;;
    *) fail "the only option is --skip-build." ;;
    esac
    at_exit clean_up
    export PYTHONDONTWRITEBYTECODE=1
    ensure_toolchain
    ensure_packages testssl.sh python3 python3-venv
    use_local_directory
    make_python_environment "$tools/python" scripts/tls/requirements.txt ||
        fail "sslyze could not be installed; see above."
    build_programs "$@"
    make_secure_world
    run_testssl
    run_sslyze
    resume_sessions >"$scratch/resumed.txt"
    local status=0
    python3 scripts/tls/judge.py "$scratch" "$(describe_run)" >"$scratch/tls.md" || status=$?
    [[ -s $scratch/tls.md ]] || fail "what the graders found could not be read; see above."
    cp "$scratch/tls.md" bench/tls.md
    cat bench/tls.md
    ((status == 0)) || fail "the graders found what is not wanted; see above."
}

build_programs() {
    local product
    if [[ ${1:-} != --skip-build ]]; then
        for product in merchant belvo-sandbox; do
            attend swift build --product "$product" || fail "the build of $product failed; see above."
        done
    fi
    programs=$(swift build --show-bin-path)
}

# Everything that the server needs, and the server with https: its certificate is for localhost, by an authority that
# nobody else trusts and whose key is gone.
make_secure_world() {
    scratch=$(mktemp --directory /tmp/merchant-tls.XXXXXX)
    start_database
    write_settings
    "$programs/merchant" migrate --config "$settings" >"$scratch/migrate.log" ||
        fail "merchant migrate failed; see above."
    start_sandbox
    merchant_url=https://localhost:${merchant_url##*:}
    # The environment wins over the file.
    export PUBLIC_BASE_URL=$merchant_url TLS_CERT_FILE=$scratch/secrets/server.pem
    export TLS_KEY_FILE=$scratch/secrets/server.key
    # They try hundreds of handshakes one after the other.
    export HTTP_HANDSHAKE_RATE_PER_ADDRESS=0
    start_merchant
}

# What browsers see is the page behind the bank. What testssl.sh found is counted in its exit code: only its file tells
# whether it came to its end.
run_testssl() {
    say "testssl.sh looks (a minute or two) ..."
    attend env TERM=dumb testssl --warnings off --color 0 --quiet --assume-http --add-ca "$scratch/secrets/ca.pem" \
        --jsonfile "$scratch/testssl.json" "$merchant_url/enrollments/callback" \
        >"$scratch/testssl.log" 2>&1 || true
    grep --quiet '"id".*"scanTime"' "$scratch/testssl.json" || {
        show_end "$scratch/testssl.log"
        fail "testssl.sh did not come to its end; above is the end of its log."
    }
}

run_sslyze() {
    say "sslyze looks ..."
    attend "$tools/python/bin/sslyze" --quiet --mozilla_config intermediate --http_headers --resum --fallback \
        --early_data --certinfo_ca_file "$scratch/secrets/ca.pem" --json_out "$scratch/sslyze.json" \
        "${merchant_url#https://}" >"$scratch/sslyze.log" 2>&1 || true
    [[ -s $scratch/sslyze.json ]] || {
        show_end "$scratch/sslyze.log"
        fail "sslyze wrote nothing; above is the end of its log."
    }
}

# resume_sessions: prints for each version whether a second connection resumed the session of the first, as in
# "TLSv1.3 Reused". With TLS 1.3 the ticket comes behind the handshake: the answer is waited for.
resume_sessions() {
    local version
    for version in 1_2 1_3; do
        shake_hands -sess_out "$scratch/session" "-tls$version" >"$scratch/handshake.log"
        shake_hands -sess_in "$scratch/session" "-tls$version" >"$scratch/handshake.log"
        sed -n 's/^\(New\|Reused\), \(TLSv[0-9.]*\).*/\2 \1/p' "$scratch/handshake.log" | head -n 1
    done
}

shake_hands() {
    printf 'GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n' |
        timeout 10 openssl s_client -connect "${merchant_url#https://}" -CAfile "$scratch/secrets/ca.pem" \
            -ign_eof "$@" 2>&1 || true
}

describe_run() {
    local commit openssl testssl sslyze
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit="none yet"
    if [[ -n $(git status --porcelain 2>/dev/null) ]]; then commit+=", with changes that are not committed"; fi
    openssl=$(openssl version | cut -d ' ' -f 1,2)
    # shellcheck disable=SC2016 # ${Version} is dpkg-query's.
    testssl=$(dpkg-query --show --showformat='${Version}' testssl.sh 2>/dev/null) || testssl=unknown
    sslyze=$(sed -n 's/^sslyze==//p' scripts/tls/requirements.txt)
    printf '%s\n' "- commit: $commit" "- taken: $(date --utc '+%Y-%m-%d %H:%M') UTC" \
        "- versions: $openssl, testssl.sh $testssl, sslyze $sslyze"
}

clean_up() {
    stop_children
if [[ -n $scratch ]]; then rm -rf "$scratch"; fi
}

main "$@"
