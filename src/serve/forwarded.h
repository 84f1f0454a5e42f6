// forwarded.h — the client of a request that came through proxies, from X-Forwarded-For. Any
// client can send that header, so only the entries count that named proxies have added.
#ifndef FR_SERVE_FORWARDED_H
#define FR_SERVE_FORWARDED_H
#include "base/status.h"

enum { FR_CLIENT_NAME = 64 };

// Checks a comma-separated list of proxies: addresses, networks ("10.0.0.0/8", "fd00::/8"), or
// "unix" for peers without an address. FR_EARG: an entry is none of these.
fr_status fr_forwarded_check(const char *proxies, fr_error *err);
// Writes the client of a connection from `peer` with this header (NULL: none). If the peer is not
// one of the proxies (NULL: none), it is the peer. Otherwise it is the last address in the header
// that is not a proxy. Of an IPv6 address the first 64 bits count, because a client with one
// address there has the whole network.
void fr_forwarded_client(char name[FR_CLIENT_NAME], const char *proxies, const char *peer,
                         const char *header);

#endif
