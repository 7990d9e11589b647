# What ./dev bench has to say, as Markdown. Every figure is a measured one.
# shellcheck shell=bash

mib_per_kib=0.0009765625

write_results() {
    cat <<TEXT
# Results of \`./dev bench\`

Written by \`./dev bench\`, which measures all of it anew. Medians, with the least and the greatest of the rounds in
brackets. Where two things are compared their rounds alternate, and the ratio is that of neighbouring rounds.

$(write_machine)

## Goals

| what | measured | goal | met |
|---|---|---|---|
| \`GET /livez\` on one core, requests/s beside nginx | $(with_range livez_ratio 1 %.2f) | 0.90 or more | $(verdict livez_ratio '>=' 0.90) |
| start to ready, with a migrated database | $(with_range ready_us 0.001 %.1f) ms | under 150 ms | $(verdict ready_us '<' 150000) |
| memory of the idle server | $(median idle_kib "$mib_per_kib" %.1f) MiB | under 40 MiB | $(verdict idle_kib '<' 40960) |
| \`POST /v1/payment-intents\` beside pgbench | $(with_range create_ratio 1 %.2f) | none yet | baseline |

## GET /livez

$livez_connections connections, $livez_rounds rounds of $round_seconds s with wrk. nginx answers from memory (\`return\`),
without a log; its answer has $nginx_bytes bytes with all fields, the server's $livez_bytes.

| | requests/s | processor µs/request | p99 ms |
|---|---|---|---|
| merchant | $(with_range livez_rate) | $(with_range livez_us 1 %.2f) | $(with_range livez_p99_us 0.001 %.2f) |
| nginx | $(with_range nginx_rate) | $(with_range nginx_us 1 %.2f) | $(with_range nginx_p99_us 0.001 %.2f) |
| ratio | $(with_range livez_ratio 1 %.2f) | $(with_range livez_cpu_ratio 1 %.2f) | |

## POST /v1/payment-intents

$creation_users users who open one payment after the other, $creation_rounds rounds. pgbench runs the same five statements
(\`bench/create_payment.sql\`: three reads and two transactions, prepared) on as many connections, from the server's core,
with PostgreSQL alone on the other; the server shares that other core between PostgreSQL, the sandbox, which answers over
TLS between the two transactions, and the load generator. The second line counts only the time that the sandbox left.

| | payments opened/s | beside pgbench | p50 ms | p99 ms | processor µs each: merchant | PostgreSQL | sandbox | load | log bytes each |
|---|---|---|---|---|---|---|---|---|---|
| merchant | $(with_range create_rate) | $(with_range create_ratio 1 %.2f) | $(median create_p50_us 0.001 %.1f) | $(median create_p99_us 0.001 %.1f) | $(median create_merchant_us) | $(median create_postgres_us) | $(median create_sandbox_us) | $(median create_load_us) | $(median create_wal_bytes) |
| … without the sandbox's time | $(with_range create_rest_rate) | $(with_range create_rest_ratio 1 %.2f) | | | | | | | |
| pgbench | $(with_range pgbench_rate) | 1 | mean $(median pgbench_mean_us 0.001 %.1f) | | | $(median pgbench_postgres_us) | | | $(median pgbench_wal_bytes) |

## Whole payments

Opened, signed with a phone in software, authorized, and looked at until they are paid; $payment_rounds rounds. The server
looks at Belvo, and the app at the server, every $payment_poll_ms ms here (2000 by default): that is most of the time of a
payment as long as the processors are not busy.

| users | payments/s | p50 ms | p99 ms | processor µs each: merchant | PostgreSQL | sandbox | load | log bytes each |
|---|---|---|---|---|---|---|---|---|
$(for users in "${payment_users[@]}"; do write_payments "$users"; done)

## Memory

| | resident MiB |
|---|---|
| idle for $idle_seconds s after the start | $(median idle_kib "$mib_per_kib" %.1f) |
| after the rounds of \`GET /livez\` and \`POST /v1/payment-intents\` | $(median loaded_kib "$mib_per_kib" %.1f) |
TEXT
}

write_payments() {
    local name=pay_$1
    printf '| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n' "$1" "$(with_range "${name}_rate")" \
        "$(median "${name}_p50_us" 0.001 %.0f)" "$(median "${name}_p99_us" 0.001 %.0f)" \
        "$(with_range "${name}_merchant_us")" "$(median "${name}_postgres_us")" "$(median "${name}_sandbox_us")" \
        "$(median "${name}_load_us")" "$(median "${name}_wal_bytes")"
}

# verdict NAME OPERATOR GOAL: whether the median, unrounded, meets the goal.
verdict() {
    case $(calculate "$(median "$1" 1 %.9g) $2 $3") in
    1) printf 'yes\n' ;;
    0) printf '**no**\n' ;;
    *) printf 'unknown\n' ;;
    esac
}

write_machine() {
    local placement commit memory
    if [[ $server_processor == "$other_processor" ]]; then
        placement="everything on the one core there is"
    else
        placement="what is measured (merchant, nginx, pgbench) on core $server_processor; PostgreSQL, the sandbox, the load
  generators and the script on core $other_processor"
    fi
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit="none yet"
    if [[ -n $(git status --porcelain 2>/dev/null) ]]; then commit+=", with changes that are not committed"; fi
    memory=$(awk '$1 == "MemTotal:" { printf "%.1f GiB", $2 / 1048576 }' /proc/meminfo)
    cat <<TEXT
- commit: $commit
- taken: $(date --utc '+%Y-%m-%d %H:%M') UTC, at a load of $load_before before it began
- machine: $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1), $(nproc --all) cores, $memory
- system: $(sed -n 's/^PRETTY_NAME="\(.*\)"/\1/p' /etc/os-release), kernel $(uname -r)
- versions: $(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/Swift \1/p'), PostgreSQL $(query 'SHOW server_version'), $("$(nginx_program)" -v 2>&1 | sed 's/.*: //'), $(wrk_version), $(openssl version | cut -d ' ' -f 1-2)
- placement: $placement
- database: fsync $(query 'SHOW fsync'), synchronous_commit $(query 'SHOW synchronous_commit'), in a new cluster below
  $(dirname "$scratch") ($(findmnt --noheadings --output FSTYPE,SOURCE --target "$scratch" | tr -s ' '))
TEXT
}

# wrk --version ends with an error code and tells more than its version.
wrk_version() { wrk --version 2>&1 | sed -n '1s/^\(wrk [^ ]*\).*/\1/p' || true; }
