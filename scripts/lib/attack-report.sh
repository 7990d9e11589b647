# What ./dev attack has to say, as Markdown. Every figure is a measured one.
# shellcheck shell=bash

write_attacks() {
    cat <<TEXT
# Results of \`./dev attack\`

Written by \`./dev attack\`, which measures all of it anew: slowhttptest against the server, and what good clients notice.
Medians, with the least and the greatest of $attack_rounds rounds in brackets.

$(write_attack_machine)

## Slow clients

$attackers connections each: request heads that never end, bodies that drip, and answers of $document_kib KiB that are
read byte by byte. They are opened anew as soon as the server has closed them, and have what processor time the good
clients leave. Those are $good_clients with $good_rate requests per second each, authenticated, $round_seconds s a round (h2load):
alone, and at once again beside the attack. The ratio is that of each round with itself. nginx has the same answers as
files, and the same attacks in turn with ours: what of a ratio is the clients' and the machine's is in its ratio too.
Memory and descriptors are the server's, $rest_seconds s after the end of the attack beside before it.

| attack | server | connections open | p50 alone | p50 beside | p99 alone | p99 beside | ratio of p99 | goal | met |
|---|---|---|---|---|---|---|---|---|---|
$(for attack in "${attacks[@]}"; do write_attack "$attack"; done)

| attack | resident MiB before, meanwhile, after | goal | met | descriptors before, after | goal | met |
|---|---|---|---|---|---|---|
$(for attack in "${attacks[@]}"; do write_return "$attack"; done)

## Idle connections

$idle_connections keep-alive connections from one client, each after one request.

| what | measured | goal | met |
|---|---|---|---|
| connections open | $(median idle_open) | $idle_connections | $(verdict idle_open '>=' "$idle_connections") |
| resident memory of one | $(median idle_bytes) bytes | at most 256 | $(verdict idle_bytes '<=' 256) |
| resident memory before, with all of them, after | $(median idle_before_kib "$mib_per_kib" %.1f), $(median idle_kib "$mib_per_kib" %.1f), $(median idle_after_kib "$mib_per_kib" %.1f) MiB | at most 1 MiB more after than before | $(verdict idle_after_kib '<=' "$(median idle_before_kib) + 1024") |
| descriptors before, after | $(median idle_before_descriptors), $(median idle_after_descriptors) | none more | $(verdict idle_after_descriptors '<=' "$(median idle_before_descriptors)") |
TEXT
}

write_attack() {
    write_attacked "$1" "$1" this "under 2 | $(verdict "${1}_ratio" '<' 2)"
    write_attacked "$1" "${1}_nginx" nginx "none | –"
}

write_attacked() {
    local attack=$1 name=$2 server=$3 goal=$4
    printf '| %s | %s | %s | %s µs | %s µs | %s µs | %s µs | %s | %s |\n' "$attack" "$server" \
        "$(with_range "${name}_open")" \
        "$(with_range "${name}_alone_p50_us")" "$(with_range "${name}_beside_p50_us")" \
        "$(with_range "${name}_alone_p99_us")" "$(with_range "${name}_beside_p99_us")" \
        "$(with_range "${name}_ratio" 1 %.2f)" "$goal"
}

write_return() {
    local name=$1
    printf '| %s | %s, %s, %s | at most 1 MiB more | %s | %s, %s | none more | %s |\n' "$name" \
        "$(median "${name}_before_kib" "$mib_per_kib" %.1f)" "$(median "${name}_kib" "$mib_per_kib" %.1f)" \
        "$(median "${name}_after_kib" "$mib_per_kib" %.1f)" \
        "$(verdict "${name}_after_kib" '<=' "$(median "${name}_before_kib") + 1024")" \
        "$(median "${name}_before_descriptors")" "$(median "${name}_after_descriptors")" \
        "$(verdict "${name}_after_descriptors" '<=' "$(median "${name}_before_descriptors")")"
}

write_attack_machine() {
    local commit nginx
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit="none yet"
    if [[ -n $(git status --porcelain 2>/dev/null) ]]; then commit+=", with changes that are not committed"; fi
    nginx=$("$(nginx_program)" -v 2>&1 | sed 's/.*nginx.//')
    cat <<TEXT
- commit: $commit
- taken: $(date --utc '+%Y-%m-%d %H:%M') UTC, at a load of $load_before before it began
- machine: $(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1), $(nproc --all) cores, kernel $(uname -r)
- versions: $(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9.]*\).*/Swift \1/p'), slowhttptest $(dpkg-query --show --showformat='${Version}' slowhttptest), $(h2load --version), nginx $nginx
- placement: the servers on core $server_processor, all clients and the database on core $other_processor
TEXT
}
