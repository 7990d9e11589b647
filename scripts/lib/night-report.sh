# What ./dev night writes: between `<!-- night NAME -->` and `<!-- end -->` of a document comes what NAME prints.
# shellcheck shell=bash

write_report() {
    local name
    local -A rows=([workload]=10 [overdue]=10 [totals_per_day]=10 [failures_per_day]=10 [orders]=3)
    # In a fixed order: some commands change what others show.
    for name in payments_open enrollments_open in_doubt orphans overdue workload webhooks_unprocessed \
        redirects_unsettled events_undelivered late_corrections double_paid taken_in orders totals_per_day \
        failures_per_day history; do
        view "$name" "${rows[$name]:-2}" >"$scratch/out.$name" 2>&1
    done
    readonly_role >"$scratch/out.readonly" 2>&1
    merchant doctor >"$scratch/out.doctor" 2>&1
    merchant inspect "$corrected" >"$scratch/out.inspect" 2>&1
    merchant reconcile --day "$evening" >"$scratch/out.reconcile" 2>&1
    view reconciliation_differences >"$scratch/out.reconciliation_differences" 2>&1
    requeue_one >"$scratch/out.requeue" 2>&1
    rotate >"$scratch/out.rotate" 2>&1
    merchant erase --subject load-8 >"$scratch/out.erase-refused" 2>&1
    erase_one >"$scratch/out.erase" 2>&1
    loud_events >"$scratch/out.events" 2>&1
    # Last: what it restores is the evening's.
    restore_backup >"$scratch/out.restore" 2>&1
    {
        # shellcheck disable=SC2016 # The backticks are Markdown's.
        printf 'Written by `./dev night` on %s.\n' "$(date --utc '+%Y-%m-%d %H:%M UTC')"
        cat "$scratch/night.log"
    } >"$scratch/out.night"
    fill "$1"
}

# As somebody at a terminal sees it: narrow tables as tables, wide ones row by row.
view() {
    local sql="SELECT * FROM ops.$1 LIMIT ${2:-2}"
    printf '=> %s;\n' "$sql"
    PGOPTIONS='-c intervalstyle=postgres' psql_as_superuser "$scratch" --dbname="$database" --no-psqlrc \
        --pset=expanded=auto --pset=columns=118 --pset=linestyle=ascii --command="$sql" | sed 's/[[:space:]]*$//'
}

# merchant WORD...: a command as it is typed, what it prints and how it ends.
merchant() {
    local status=0
    printf '$ merchant %s\n' "$*"
    "$programs/merchant" "$@" --config "$settings" 2>&1 || status=$?
    printf '$ echo $?\n%s\n' "$status"
}

readonly_role() {
    psql_as_superuser "$scratch" --dbname="$database" --no-psqlrc --echo-queries --quiet <<'SQL' 2>&1 || true
SET ROLE merchant_readonly;
SELECT count(*) FROM ops.payments_open;
SELECT count(*) FROM payments;
SQL
}

requeue_one() {
    merchant requeue "$(query "SELECT id FROM ops.in_doubt LIMIT 1")"
}

# A new key in front of the old one, for one command.
rotate() {
    local old
    old=$(sed -n 's/^ENCRYPTION_KEYS=//p' "$settings")
    ENCRYPTION_KEYS="2027:$(openssl rand -base64 32),$old" merchant rotate-keys
}

# The shop is back, and is told; then the user who went to bed early can be forgotten.
erase_one() {
    local event
    start shop TERM "$scratch/shop.log" python3 -c '
import http.server, sys
class Shop(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(204)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Shop).serve_forever()' "$shop_port"
    sleep 1
    for event in $(query "SELECT id FROM events WHERE next_attempt_at IS NOT NULL AND record_id IN (
        SELECT id FROM payments WHERE subject = 'load-8' UNION ALL SELECT id FROM enrollments WHERE subject = 'load-8')"); do
        "$programs/merchant" requeue "$event" --config "$settings" >/dev/null
    done
    sleep 5
    merchant erase --subject load-8
}

# How often each event of level error and critical was logged.
loud_events() {
    cat "$scratch"/merchant*.log | grep -E '"level":"(error|critical|warning)"' |
        sed -E 's/.*"level":"([a-z]+)".*"(message|event)":"([a-z._]+)".*/\1 \3/' | sort | uniq -c || true
}

# fill DOCUMENT: puts what was printed into its places.
fill() {
    awk -v directory="$scratch" '
        /^<!-- end -->$/ { inside = 0 }
        !inside { print }
        /^<!-- night [a-z_-]+ -->$/ {
            inside = 1
            print "\n```text"
            file = directory "/out." $3
            while ((getline line < file) > 0) print line
            close(file)
            print "```\n"
        }
    ' "$1" >"$scratch/document.md"
    cp "$scratch/document.md" "$1"
}
