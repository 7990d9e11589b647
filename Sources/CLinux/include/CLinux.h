// What Swift's Glibc module does not show: epoll, eventfd, signalfd, accept4, getrandom, and macros.
// Each function here is a plain call of the system's function of the same name.
#pragma once

#include <errno.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/// `accept4` with SOCK_NONBLOCK and SOCK_CLOEXEC; the peer's address is written to `address`.
int clinux_accept(int listener, struct sockaddr_storage *address, socklen_t *length);
/// `socket` of the given family with SOCK_STREAM, SOCK_NONBLOCK and SOCK_CLOEXEC.
int clinux_stream_socket(int family);
/// `setsockopt(SO_ATTACH_FILTER)`: a listening TCP socket no longer hears of those who begin to connect.
int clinux_ignore_newcomers(int listener);
/// `fcntl`: sets O_NONBLOCK and FD_CLOEXEC.
int clinux_set_nonblocking(int descriptor);
/// `prctl(PR_SET_NAME)` and so forth need no variadics from Swift this way.
int clinux_set_thread_name(const char *name);
/// `prctl(PR_SET_DUMPABLE, 0)`: no core dump, no ptrace by others.
int clinux_forbid_core_dumps(void);

/// `stat`: the size of what is at a path; -1 where nothing is, or it cannot be asked about.
static inline int64_t clinux_size(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

/// `stat`: whether everybody may read what is at a path.
static inline bool clinux_is_readable_by_all(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 && (status.st_mode & S_IROTH) != 0;
}

/// `malloc_trim(0)`: freed memory goes back to the system.
static inline void clinux_give_memory_back(void) { malloc_trim(0); }

/// The value that this thread keeps for its event loop, or NULL.
void *clinux_thread_loop(void);
void clinux_set_thread_loop(void *loop);

/// `epoll_wait` events without the union's padding rules leaking into Swift.
static inline void clinux_epoll_event(struct epoll_event *event, uint32_t events, uint64_t token) {
    event->events = events;
    event->data.u64 = token;
}
static inline uint64_t clinux_epoll_token(const struct epoll_event *event) { return event->data.u64; }
static inline uint32_t clinux_epoll_events(const struct epoll_event *event) { return event->events; }
/// The calling thread's errno.
static inline int clinux_errno(void) { return errno; }
/// How many processors this process may use: `sched_getaffinity`, at least 1.
int clinux_available_processors(void);
