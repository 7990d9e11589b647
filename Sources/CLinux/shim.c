#define _GNU_SOURCE  // accept4; never in the header, where it would change the types that Swift sees.
#include "CLinux.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <sched.h>
#include <sys/prctl.h>

int clinux_accept(int listener, struct sockaddr_storage *address, socklen_t *length) {
    *length = sizeof(*address);
    return accept4(listener, (struct sockaddr *)address, length, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int clinux_stream_socket(int family) { return socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); }

int clinux_set_nonblocking(int descriptor) {
    int flags = fcntl(descriptor, F_GETFL);
    if (flags < 0 || fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) < 0) return -1;
    return fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

int clinux_ignore_newcomers(int listener) {
    // The filter sees a segment from its TCP header on; the fourteenth byte holds the flags (RFC 9293 section 3.1). A
    // client's first segment has SYN, and none of its later ones.
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x02, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xFFFFFFFF),
    };
    struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};
    return setsockopt(listener, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program));
}

int clinux_set_thread_name(const char *name) { return prctl(PR_SET_NAME, name, 0, 0, 0); }

int clinux_forbid_core_dumps(void) { return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0); }

static __thread void *thread_loop;
void *clinux_thread_loop(void) { return thread_loop; }
void clinux_set_thread_loop(void *loop) { thread_loop = loop; }

int clinux_available_processors(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
    int count = CPU_COUNT(&set);
    return count > 0 ? count : 1;
}
