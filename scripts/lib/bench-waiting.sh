# The section "Waiting requests" of ./dev bench: apps that wait on one instance for changes made through another.
# shellcheck shell=bash

# measure_waiting: the memory, threads and database connections that waiting requests cost, and how soon they are told.
measure_waiting() {
    start_merchant
    # Both are on the first processor: what is measured goes through both.
    start_other_merchant
    start_waiting_apps
    say "$waiting_apps apps connect ..."
    order open
    sleep "$idle_seconds"
    take waiting_idle_kib "$(resident_kib "$merchant_pid")"
    take waiting_threads_before "$(threads "$merchant_pid")"
    take waiting_database_before "$(database_connections)"
    order wait
    sleep "$idle_seconds"
    take waiting_kib "$(resident_kib "$merchant_pid")"
    take waiting_threads "$(threads "$merchant_pid")"
    take waiting_database "$(database_connections)"
    take waiting_bytes "$(calculate "(${taken[waiting_kib]} - ${taken[waiting_idle_kib]}) * 1024 / $waiting_apps")"
    say "$waiting_changes changes while they wait ..."
    order change "$waiting_changes"
    local told p50 p99 most
    read -r told p50 p99 most <<<"$answer"
    [[ $told == "$waiting_changes" ]] || fail "of $waiting_changes changes $told were told."
    take waiting_p50_us "$p50"
    take waiting_p99_us "$p99"
    take waiting_max_us "$most"
    stop_child "$load_pid"
    stop_child "$other_merchant_pid"
    stop_child "$merchant_pid"
}

start_other_merchant() {
    local port
    port=$(free_port $((merchant_port + 20)))
    other_merchant_url=http://127.0.0.1:$port
    start "other merchant" TERM "$scratch/other-merchant.log" "${on_server_processor[@]}" env \
        "LISTEN=127.0.0.1:$port" "ADMIN_LISTEN=127.0.0.1:$(free_port $((port + 1)))" \
        "$programs/merchant" serve --config "$settings"
    other_merchant_pid=$started
    wait_for 30 "$other_merchant_pid" answers --fail "$other_merchant_url/readyz" ||
        fail_for "$other_merchant_pid" "the other merchant did not become ready"
}

start_waiting_apps() {
    make_tokens waiting "$waiting_users"
    start_on_orders "$programs/LoadProgram" wait --merchant "$merchant_url" --other "$other_merchant_url" \
        --tokens "$scratch/tokens" --apps "$waiting_apps"
    say "Starting $waiting_apps enrollments ..."
    hear
}

threads() { sed -n 's/^Threads:[[:space:]]*//p' "/proc/$1/status"; }

# Of both instances together.
database_connections() { query "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'merchant'"; }
