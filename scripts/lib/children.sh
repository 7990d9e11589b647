# The processes a script starts, and their end.
# shellcheck shell=bash
#
# Each child gets a session of its own: the terminal's Ctrl-C then reaches this script alone, which stops its children
# in order, the server before the database that it still needs. And each is told when the script dies, whatever it dies
# of (PR_SET_PDEATHSIG), so that even kill -9 leaves no server running.

child_pids=() # in the order of their start
declare -A child_names=() child_signals=() child_logs=()
started=''

# start NAME SIGNAL LOG COMMAND...: runs it in the background; SIGNAL is how it is asked to stop, an empty LOG shows
# its output here. Sets `started` to its process id. Must not be called in a subshell: that would be the parent.
start() {
    local name=$1 signal=$2 log=$3
    shift 3
    local command=(setsid setpriv --pdeathsig "$signal" "$@")
    # 9 is the lock of .local, which is this script's and not to be held by what it started.
    if [[ -n $log ]]; then
        "${command[@]}" </dev/null >"$log" 2>&1 9>&- &
    else
        "${command[@]}" </dev/null 9>&- &
    fi
    started=$!
    child_pids+=("$started")
    child_names[$started]=$name
    child_signals[$started]=$signal
    child_logs[$started]=$log
}

# attend COMMAND...: runs it as if it were called, except that a signal to this script stops it at once and whole: bash
# lets a trap wait for the end of a foreground command, and a compiler's own children would go on.
attend() {
    start "$1" TERM "" "$@"
    local pid=$started status=0
    wait "$pid" || status=$?
    forget_child "$pid"
    return "$status"
}

# fail_when_one_ends: waits until some child ends, which none should, and says which.
fail_when_one_ends() {
    local pid
    while :; do
        for pid in "${child_pids[@]}"; do
            kill -0 "$pid" 2>/dev/null || fail_for "$pid" "${child_names[$pid]} has ended by itself"
        done
        wait -n 2>/dev/null || true
    done
}

# fail_for PID MESSAGE: fails with the message, the exit code if that child has ended, and the end of its log.
fail_for() {
    local pid=$1 message=$2 log=${child_logs[$1]} status=0
    if ! kill -0 "$pid" 2>/dev/null; then
        wait "$pid" || status=$?
        message+=" (exit code $status)"
        forget_child "$pid"
    fi
    show_end "$log"
    fail "$message. Above is the end of $log."
}

# stop_child PID: asks it and all that it started to stop, and ends what has not done so after 20 seconds.
stop_child() {
    local pid=$1 deadline=$((SECONDS + 20))
    signal_session "$pid" "${child_signals[$pid]}"
    while [[ -n $(session "$pid") ]]; do
        if ((SECONDS >= deadline)); then
            say "${child_names[$pid]} did not stop within 20 seconds and was killed."
            signal_session "$pid" KILL
            break
        fi
        sleep 0.05
    done
    wait "$pid" 2>/dev/null || true
    forget_child "$pid"
}

# A child's session, not its process group: `swift test` puts the tests into a group of their own.
signal_session() {
    local member
    for member in $(session "$1"); do kill -s "$2" "$member" 2>/dev/null || true; done
}

# session PID: prints the living processes of the session that PID leads.
session() {
    local file line fields
    for file in /proc/[0-9]*/stat; do
        read -r line 2>/dev/null <"$file" || continue
        # pid (name) state parent group session ...; a name may hold blanks and parentheses.
        read -ra fields <<<"${line##*) }"
        if [[ ${fields[3]} == "$1" && ${fields[0]} != Z ]]; then printf '%s\n' "${line%% *}"; fi
    done
}

# stop_children: the last one started first.
stop_children() {
    while ((${#child_pids[@]} > 0)); do
        stop_child "${child_pids[-1]}"
    done
}

forget_child() {
    local pid left=()
    for pid in "${child_pids[@]}"; do
        if [[ $pid != "$1" ]]; then left+=("$pid"); fi
    done
    child_pids=("${left[@]}")
}

# at_exit FUNCTION: the traps every script has. FUNCTION runs once, however the script ends; a signal gives the exit
# code that a shell gives it.
at_exit() {
    exit_function=$1
    # Goes on although nothing can be printed: the terminal may be gone, and with it the reader.
    trap 'set +e; trap "" HUP INT TERM PIPE; "$exit_function"' EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}
