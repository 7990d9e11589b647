# Free TCP ports on 127.0.0.1, without any program beside bash.
# shellcheck shell=bash

port_is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# free_port WANTED [GIVEN...]: prints it, or the nearest one above on which nobody listens and that is not given away.
free_port() {
    local port
    for ((port = $1; port < $1 + 100; port++)); do
        if [[ " ${*:2} " != *" $port "* ]] && port_is_free "$port"; then
            printf '%s\n' "$port"
            return
        fi
    done
    fail "no free port between $1 and $((port - 1)) on 127.0.0.1."
}

# random_port: prints a free one below the range from which the kernel takes ports for outgoing connections.
random_port() { free_port $((20000 + RANDOM % 10000)); }
