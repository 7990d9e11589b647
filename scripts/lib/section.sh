# What programs write into documents, between `<!-- NAME -->` and `<!-- end of NAME -->`.
# shellcheck shell=bash

# write_section DOCUMENT NAME FILE: puts the file's text there, with the time and the commit of which it is.
write_section() {
    local commit new
    commit=$(git rev-parse --short HEAD 2>/dev/null) || commit="none yet"
    new=$(awk -v begin="<!-- $2 -->" -v end="<!-- end of $2 -->" -v text="$3" \
        -v taken="$(date --utc '+%Y-%m-%d %H:%M') UTC at commit $commit" '
        $0 == end { inside = 0 }
        !inside { print }
        $0 == begin {
            inside = 1
            print "\nTaken " taken ".\n"
            while ((getline line < text) > 0) print line
            print ""
        }' "$1")
    printf '%s\n' "$new" >"$1"
    say "$1 has it."
}
