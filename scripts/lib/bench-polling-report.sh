# What ./dev bench has to say of looks at what is pending, as Markdown.
# shellcheck shell=bash

write_polling() {
    local count
    cat <<TEXT
## Looking at what is pending

Authorized payments that Belvo has not decided, each looked at every 2 s, beside $polling_finished finished ones. The
processor time is the whole server's: asking what is due, claims, the calls over TLS and the records, and whatever else
it does meanwhile; $polling_rounds rounds of $polling_seconds s, and the looks are counted by the sandbox.
A bare call is what h2load, a client in C, uses when it reads one such payment over TLS at the same rate from the same
processor, without a claim, without understanding the answer and without recording it.
Taken $(date --utc '+%Y-%m-%d %H:%M') UTC at commit $(git rev-parse --short HEAD 2>/dev/null || echo none).

| pending | looks/s | processor µs/look | goal | met | µs/bare call |
|---|---|---|---|---|---|
TEXT
    for count in "${polling_pending[@]}"; do
        printf '| %s | %s | %s | at most 60 | %s | %s |\n' "$count" "$(median "polling_${count}_rate" 1 %.1f)" \
            "$(with_range "polling_${count}_us" 1 %.1f)" "$(verdict "polling_${count}_us" '<=' 60)" \
            "$(with_range "polling_${count}_bare_us" 1 %.1f)"
    done
}
