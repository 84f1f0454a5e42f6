#define _GNU_SOURCE
#include "client.h"
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

int client_dial(const fr_http *http) {
    const struct sockaddr_in to = {.sin_family = AF_INET,
                                   .sin_port = htons((uint16_t)fr_http_port(http)),
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const struct timeval patience = {.tv_sec = 600};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_true(fd >= 0 && !connect(fd, (const struct sockaddr *)&to, sizeof to));
    return fd;
}

int client_hear(int fd, char *reply, size_t room) {
    size_t n = 0;
    ssize_t m;
    int status = 0;
    while (n + 1 < room && (m = recv(fd, reply + n, room - 1 - n, 0)) > 0)
        n += (size_t)m;
    reply[n] = 0;
    close(fd);
    sscanf(reply, "HTTP/1.1 %d", &status);
    return status;
}

void client_refuse(fr_exchange *x, int status, const char *type, const char *message) {
    (void)type;
    fr_exchange_reply(x, status, "text/plain", message, strlen(message));
}
