// host.h — the names by which a server may be asked. A page can have its own name lead to this
// machine (DNS rebinding). For its browser it then has the origin of the server, and could read all
// answers; but each of its requests has that name as Host. So only names are answered that no page
// can have: addresses, localhost, and those that were given.
#ifndef FR_SERVE_HOST_H
#define FR_SERVE_HOST_H
#include "base/status.h"

// What an authority ("name", "name:8080", "127.0.0.1", "[::1]:8080") gets: 0, or 403: it is another
// name than localhost, one that ends with .localhost, an address and those of both lists, or 400:
// it is no authority. Lists have commas; NULL: none; "*" in `allowed` is every name.
int fr_host_status(const char *authority, const char *hosts, const char *allowed);

// FR_EARG: what is in the list `allowed` is no name.
fr_status fr_host_check_list(const char *allowed, fr_error *err);

#endif
