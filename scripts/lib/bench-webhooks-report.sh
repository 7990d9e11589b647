# What ./dev bench has to say of webhooks, as Markdown.
# shellcheck shell=bash

write_webhooks() {
    cat <<TEXT
## Webhooks

Each about another object that nobody here knows, from $webhook_connections connections of wrk that send one after the
other, $webhook_rounds rounds of $webhook_seconds s for each line, taken in turn. Each is on disk before it is answered.
While Belvo hangs, its process is stopped: it takes connections and answers nothing, and the server tries to read the
objects all the same.
Taken $(date --utc '+%Y-%m-%d %H:%M') UTC at commit $(git rev-parse --short HEAD 2>/dev/null || echo none).

| Belvo | webhooks/s | p50 ms | p99 ms | goal | met |
|---|---|---|---|---|---|
| answers | $(with_range webhook_rate) | $(median webhook_p50_us 0.001 %.1f) | $(with_range webhook_p99_us 0.001 %.1f) | | |
| hangs | $(with_range webhook_hanging_rate) | $(median webhook_hanging_p50_us 0.001 %.1f) | $(with_range webhook_hanging_p99_us 0.001 %.1f) | p99 under 50 ms | $(verdict webhook_hanging_p99_us '<' 50000) |
TEXT
}
