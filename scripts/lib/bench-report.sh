# What the report of ./dev attack says of figures.
# shellcheck shell=bash

# shellcheck disable=SC2034 # Read by the report.
mib_per_kib=0.0009765625

# verdict NAME OPERATOR GOAL: whether the median, unrounded, meets the goal.
verdict() {
    case $(calculate "$(median "$1" 1 %.9g) $2 $3") in
    1) printf 'yes\n' ;;
    0) printf '**no**\n' ;;
    *) printf 'unknown\n' ;;
    esac
}
