// listen.h — listening sockets: on an address, a name, or the path of a Unix socket.
#ifndef FR_SERVE_LISTEN_H
#define FR_SERVE_LISTEN_H
#include "base/status.h"
#include <sys/types.h>

typedef struct fr_listener {
    int fd;
    int port;      // 0: a Unix socket
    bool is_local; // no other machine reaches it
    char *path;    // of a Unix socket
    dev_t device;  // ... and its file
    ino_t inode;
} fr_listener;

// Whether host[0, n) names a Unix socket: it begins with "unix:" or ends with ".sock".
bool fr_listen_is_path(const char *host, size_t n);

// Listens. port 0: a free port; only_6: an IPv6 address does not take IPv4 connections. The file of
// a Unix socket has mode 0600, and replaces a socket that a process of this user has left. FR_EIO:
// the system refuses; FR_EARG: the path is too long.
fr_status fr_listen(fr_listener *out, const char *host, int port, bool only_6, fr_error *err);
// Removes a socket's file, if it is still the same file. `fd` stays open.
void fr_listener_forget(fr_listener *l);

#endif
