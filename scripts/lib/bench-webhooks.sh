# The section "Webhooks" of ./dev bench: how soon Belvo has its 200 while it answers nothing itself.
# shellcheck shell=bash

# measure_webhooks: rounds with a Belvo that is stopped in the middle of everything, and rounds with one that answers.
measure_webhooks() {
    local round
    WEBHOOK_TOKEN=$(sed -n 's/^BELVO_WEBHOOK_TOKEN=//p' "$settings")
    export WEBHOOK_TOKEN
    start_merchant
    for ((round = 1; round <= webhook_rounds; round++)); do
        say "Webhooks, round $round of $webhook_rounds ..."
        measure_told webhook
        kill -STOP "$sandbox_pid"
        measure_told webhook_hanging
        kill -CONT "$sandbox_pid"
    done
    stop_child "$merchant_pid"
}

# measure_told NAME: takes NAME_rate, NAME_p50_us and NAME_p99_us of one round.
measure_told() {
    local log=$scratch/webhooks.txt before told
    before=$(query 'SELECT count(*) FROM webhook_receipts')
    "${on_other_processor[@]}" wrk --threads 1 --connections "$webhook_connections" \
        --duration "${webhook_seconds}s" --latency --script bench/webhooks.lua "$merchant_url/webhooks/belvo" >"$log"
    if grep -q 'Non-2xx\|Socket errors' "$log"; then
        show_end "$log"
        fail "not every webhook was answered with 200; see above."
    fi
    told=$(awk '$2 == "requests" && $3 == "in" { print $1 }' "$log")
    (($(query 'SELECT count(*) FROM webhook_receipts') - before >= told)) ||
        fail "of $told webhooks answered not all are in the database."
    take "$1_rate" "$(calculate "$told / $webhook_seconds")"
    take "$1_p50_us" "$(wrk_percentile 50% "$log")"
    take "$1_p99_us" "$(wrk_percentile 99% "$log")"
}
