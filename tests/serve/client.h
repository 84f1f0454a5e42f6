// client.h — the other side of a server that runs in a test.
#ifndef FR_TESTS_SERVE_CLIENT_H
#define FR_TESTS_SERVE_CLIENT_H
#include "serve/http.h"

// A connection, by 127.0.0.1. Reading from it waits ten minutes at most.
int client_dial(const fr_http *http);
// What comes until the other side ends, as a text of fewer than `room` bytes. The status of its first
// line; 0: it has none. Closes the connection.
int client_hear(int fd, char *reply, size_t room);

// fr_http_options.error: the message alone.
void client_refuse(fr_exchange *x, int status, const char *type, const char *message);

#endif
