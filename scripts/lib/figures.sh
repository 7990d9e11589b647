# Figures that are taken several times, and the processor time of programs.
# shellcheck shell=bash

declare -A taken=() cpu=()
clock_ticks=$(getconf CLK_TCK)

# take NAME VALUE: adds a value to those of NAME.
take() { taken[$1]+="$2 "; }

# calculate EXPRESSION: prints what awk makes of it, in full.
calculate() { awk "BEGIN { printf \"%.9g\n\", ($1) }"; }

# median NAME [FACTOR] [FORMAT]: prints the middle one of the values, times FACTOR.
median() { quantiles "$@" | cut -d ' ' -f 1; }

# with_range NAME [FACTOR] [FORMAT]: prints the median, the least and the greatest: 12 (11–14).
with_range() {
    local middle least greatest
    read -r middle least greatest < <(quantiles "$@")
    printf '%s (%s–%s)\n' "$middle" "$least" "$greatest"
}

quantiles() {
    # shellcheck disable=SC2086 # The values are split at the blanks between them.
    printf '%s\n' ${taken[$1]} | sort -g | awk -v factor="${2:-1}" -v format="${3:-%.0f}" '
        { value[NR] = $1 * factor }
        END {
            middle = (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2
            printf format " " format " " format "\n", middle, value[1], value[NR]
        }'
}

# read_cpu PID...: sets cpu[PID] to the microseconds that each of them and its children have used until now, the
# children that have ended included.
read_cpu() {
    local file line fields pid owner tick=$((1000000 / clock_ticks))
    cpu=()
    for pid in "$@"; do cpu[$pid]=0; done
    for file in /proc/[0-9]*/stat; do
        read -r line 2>/dev/null <"$file" || continue
        pid=${line%% *}
        # pid (name) state parent ... utime stime cutime cstime ...; a name may hold blanks and parentheses.
        read -ra fields <<<"${line##*) }"
        owner=$pid
        [[ -v cpu[$pid] ]] || owner=${fields[1]}
        [[ -v cpu[$owner] ]] || continue
        cpu[$owner]=$((cpu[$owner] + tick * (fields[11] + fields[12])))
        if [[ $owner == "$pid" ]]; then cpu[$pid]=$((cpu[$pid] + tick * (fields[13] + fields[14]))); fi
    done
}

# resident_kib PID: prints the memory that the process holds now.
resident_kib() { sed -n 's/^VmRSS:[[:space:]]*\([0-9]*\) kB$/\1/p' "/proc/$1/status"; }
