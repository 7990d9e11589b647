# Medians with a confidence interval that takes nothing for granted about how the rounds are distributed.
# shellcheck shell=bash

# with_interval NAME [FACTOR] [FORMAT]: prints the median and the interval that holds the true median with a confidence
# of at least 95 %: 12 (11–14).
with_interval() {
    local middle least greatest
    read -r middle least greatest < <(interval "$@")
    printf '%s (%s–%s)\n' "$middle" "$least" "$greatest"
}

# interval NAME [FACTOR] [FORMAT]: prints the median, the interval's lower and its upper end.
#
# Of n rounds each lies above the true median with a chance of one half, so the k-th least is above it with that of
# fewer than k heads among n tosses. The largest k is taken for which both ends together miss it in at most 5 % of all
# runs; with fewer than six rounds there is none, and the ends are the least and the greatest.
interval() {
    # shellcheck disable=SC2086 # The values are split at the blanks between them.
    printf '%s\n' ${taken[$1]} | sort -g | awk -v factor="${2:-1}" -v format="${3:-%.0f}" '
        { value[NR] = $1 * factor }
        END {
            middle = (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2
            k = 0
            chance = 2 ^ -NR
            missed = 0
            while (2 * (missed + chance) <= 0.05 && k + 1 <= NR / 2) {
                missed += chance
                chance *= (NR - k) / (k + 1)
                k++
            }
            if (k == 0) k = 1
            printf format " " format " " format "\n", middle, value[k], value[NR + 1 - k]
        }'
}

# reached NAME OPERATOR GOAL: whether the interval reaches the goal; OPERATOR is >= or <=.
reached() {
    local middle least greatest end
    read -r middle least greatest < <(interval "$1" 1 %.9g)
    if [[ $2 == '>=' ]]; then end=$greatest; else end=$least; fi
    if [[ $(calculate "$end $2 $3") == 1 ]]; then
        if [[ $(calculate "$middle $2 $3") == 1 ]]; then printf 'yes\n'; else printf 'within the interval\n'; fi
    else
        printf '**no**\n'
    fi
}
