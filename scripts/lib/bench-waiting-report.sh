# What ./dev bench has to say of waiting requests, as Markdown.
# shellcheck shell=bash

write_waiting() {
    cat <<TEXT
## Waiting requests

$waiting_apps apps wait for their enrollments (\`GET ...?wait=30\` with \`If-None-Match\`), each on a connection of its own,
and $waiting_changes of the enrollments are changed through another instance, one after the other. The time runs from the
request for the change to the answer of the app that waits: the other instance's own work and its commit are part of it.
Taken $(date --utc '+%Y-%m-%d %H:%M') UTC at commit $(git rev-parse --short HEAD 2>/dev/null || echo none).

| what | measured | goal | met |
|---|---|---|---|
| memory of a waiting request beyond its idle connection | $(median waiting_bytes) bytes | at most 2048 | $(verdict waiting_bytes '<=' 2048) |
| threads, while nobody waits and while all wait | $(median waiting_threads_before), $(median waiting_threads) | none more | $(verdict waiting_threads '<=' "$(median waiting_threads_before)") |
| database connections of both instances, likewise | $(median waiting_database_before), $(median waiting_database) | none more | $(verdict waiting_database '<=' "$(median waiting_database_before)") |
| from a change to the answer: p50 | $(median waiting_p50_us 0.001 %.1f) ms | | |
| … p99 | $(median waiting_p99_us 0.001 %.1f) ms | under 50 ms | $(verdict waiting_p99_us '<' 50000) |
| … the longest | $(median waiting_max_us 0.001 %.1f) ms | | |
| resident memory with all connections idle, and with all waiting | $(median waiting_idle_kib "$mib_per_kib" %.1f), $(median waiting_kib "$mib_per_kib" %.1f) MiB | | |
TEXT
}
