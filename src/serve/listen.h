// listen.h — what a server listens on: an address, a name, or the path of a Unix socket.
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

// Whether that many bytes name a Unix socket: "unix:PATH", or what ends with ".sock".
bool fr_listen_is_path(const char *host, size_t n);

// Listens. port 0: a free one; only_6: an address of IPv6 leaves those of IPv4 to others. The file
// of a Unix socket is its owner's alone (0600) and replaces one that this user's process left.
// FR_EIO: it cannot, FR_EARG: the path is too long.
fr_status fr_listen(fr_listener *out, const char *host, int port, bool only_6, fr_error *err);
// Removes a socket's file, where it is still the same. `fd` stays open.
void fr_listener_forget(fr_listener *l);

#endif
