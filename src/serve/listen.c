// listen.c — sockets that listen.
#define _GNU_SOURCE
#include "serve/listen.h"
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

static const char scheme[] = "unix:", suffix[] = ".sock";

bool fr_listen_is_path(const char *host, size_t n) {
    const size_t m = sizeof scheme - 1, e = sizeof suffix - 1;
    return (n >= m && !strncmp(host, scheme, m)) || (n > e && !strncmp(host + n - e, suffix, e));
}

// ---------------------------------------------------------------- addresses

static int listen_on(const struct addrinfo *a, bool only_6) {
    const int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
    const int yes = 1;
    if (fd < 0) return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (a->ai_family == AF_INET6 && only_6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
    if (!bind(fd, a->ai_addr, a->ai_addrlen) && !listen(fd, BACKLOG)) return fd;
    const int error = errno;
    close(fd);
    errno = error;
    return -1;
}

// Port and reach of a socket that has them.
static void look_at(fr_listener *l) {
    union {
        struct sockaddr_storage any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } at;
    socklen_t n = sizeof at;
    if (getsockname(l->fd, (struct sockaddr *)&at, &n)) return;
    if (at.any.ss_family == AF_INET6) {
        l->port = ntohs(at.v6.sin6_port);
        l->is_local = IN6_IS_ADDR_LOOPBACK(&at.v6.sin6_addr);
    } else {
        l->port = ntohs(at.v4.sin_port);
        l->is_local = ntohl(at.v4.sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
    }
}

static fr_status open_address(fr_listener *l, const char *host, int port, bool only_6,
                              fr_error *err) {
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found;
    char service[16];
    snprintf(service, sizeof service, "%d", port);
    const int rc = getaddrinfo(host, service, &hints, &found);
    if (rc)
        return fr_fail(err, FR_EIO, "host %s: expected an address to listen on, found: %s", host,
                       gai_strerror(rc));
    for (const struct addrinfo *a = found; a && l->fd < 0; a = a->ai_next)
        l->fd = listen_on(a, only_6);
    freeaddrinfo(found);
    if (l->fd < 0)
        return fr_fail(err, FR_EIO, "%s:%d: cannot listen: %s", host, port, strerror(errno));
    look_at(l);
    return FR_OK;
}

// ---------------------------------------------------------------- Unix sockets

// Removes what a process of this user left that has ended without doing so.
static fr_status replace(const struct sockaddr_un *at, fr_error *err) {
    struct stat is;
    const char *path = at->sun_path;
    if (lstat(path, &is)) return FR_OK;
    if (!S_ISSOCK(is.st_mode))
        return fr_fail(err, FR_EIO, "%s: expected a socket or nothing, found another file", path);
    if (is.st_uid != geteuid())
        return fr_fail(err, FR_EIO, "%s: the socket there belongs to another user", path);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) return fr_fail(err, FR_EIO, "%s: %m", path);
    const bool is_stale =
        connect(fd, (const struct sockaddr *)at, sizeof *at) && errno == ECONNREFUSED;
    close(fd);
    if (!is_stale) return fr_fail(err, FR_EIO, "%s: another process listens there", path);
    return unlink(path) ? fr_fail(err, FR_EIO, "%s: cannot remove it: %m", path) : FR_OK;
}

// The mode of a socket that is not bound yet becomes that of its file: at no time is it open to
// others.
static fr_status bind_path(fr_listener *l, const struct sockaddr_un *at, fr_error *err) {
    struct stat is;
    fr_status st = replace(at, err);
    if (st) return st;
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->fd < 0 || fchmod(l->fd, 0600) || bind(l->fd, (const struct sockaddr *)at, sizeof *at))
        return fr_fail(err, FR_EIO, "%s: cannot listen: %m", at->sun_path);
    if (chmod(at->sun_path, 0600) || lstat(at->sun_path, &is) || listen(l->fd, BACKLOG) ||
        !(l->path = strdup(at->sun_path))) {
        st = fr_fail(err, FR_EIO, "%s: cannot listen: %m", at->sun_path);
        unlink(at->sun_path);
        return st;
    }
    l->device = is.st_dev;
    l->inode = is.st_ino;
    return FR_OK;
}

// Two servers that start at once take their turn: the folder is locked. Any user can lock a folder
// that all can read, as /tmp, so a lock that stays is not waited for.
static int lock_folder_of(const char *path) {
    enum { TRIES = 200, PAUSE = 10000 }; // microseconds
    char copy[sizeof((struct sockaddr_un *)NULL)->sun_path];
    snprintf(copy, sizeof copy, "%s", path);
    const int folder = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; folder >= 0 && flock(folder, LOCK_EX | LOCK_NB) && i < TRIES; i++)
        usleep(PAUSE);
    return folder;
}

static fr_status open_path(fr_listener *l, const char *path, fr_error *err) {
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (!*path || strlen(path) >= sizeof at.sun_path)
        return fr_fail(err, FR_EARG, "host: expected a path of 1 to %zu bytes, found one of %zu",
                       sizeof at.sun_path - 1, strlen(path));
    memcpy(at.sun_path, path, strlen(path));
    const int folder = lock_folder_of(path);
    const fr_status st = bind_path(l, &at, err);
    if (folder >= 0) close(folder);
    return st;
}

// ---------------------------------------------------------------- both

fr_status fr_listen(fr_listener *out, const char *host, int port, bool only_6, fr_error *err) {
    *out = (fr_listener){.fd = -1, .is_local = true};
    const size_t m = strncmp(host, scheme, sizeof scheme - 1) ? 0 : sizeof scheme - 1;
    const fr_status st = fr_listen_is_path(host, strlen(host))
                             ? open_path(out, host + m, err)
                             : open_address(out, host, port, only_6, err);
    if (!st) return FR_OK;
    if (out->fd >= 0) close(out->fd);
    fr_listener_forget(out);
    out->fd = -1;
    return st;
}

void fr_listener_forget(fr_listener *l) {
    struct stat is;
    if (l->path && !lstat(l->path, &is) && is.st_dev == l->device && is.st_ino == l->inode)
        unlink(l->path);
    free(l->path);
    l->path = NULL;
}
