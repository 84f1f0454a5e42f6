// forwarded.h — the client of a request that comes through proxies, as X-Forwarded-For has it. Any
// client can send that header, so of it only what named proxies have added counts.
#ifndef FR_SERVE_FORWARDED_H
#define FR_SERVE_FORWARDED_H
#include "base/status.h"

enum { FR_CLIENT_NAME = 64 };

// The proxies, with commas: addresses, networks ("10.0.0.0/8", "fd00::/8"), or "unix" for peers
// without an address. FR_EARG: one is none of these.
fr_status fr_forwarded_check(const char *proxies, fr_error *err);
// The client of a connection from `peer` with this header (NULL: it has none): the peer, or if that
// is one of the proxies (NULL: there are none) the last address in the header that is not. Of IPv6
// the first 64 bits, as a client that has one address there has all of them.
void fr_forwarded_client(char name[FR_CLIENT_NAME], const char *proxies, const char *peer,
                         const char *header);

#endif
