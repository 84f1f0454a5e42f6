// host.h — by which names a server may be asked. A page whose name is made to lead to this machine
// (DNS rebinding) is of the same origin as the server for its browser, and could read all answers;
// yet each of its requests has that name as Host. So names are answered that no stranger can own:
// addresses, this machine's own name for itself, and those that were given.
#ifndef FR_SERVE_HOST_H
#define FR_SERVE_HOST_H
#include "base/status.h"

// What an authority ("name", "name:8080", "127.0.0.1", "[::1]:8080") gets: 0, or 403: it is another
// name than localhost, one that ends with .localhost, an address and those of both lists, or 400: it
// is no authority. Lists have commas; NULL: none; "*" in `allowed` is every name.
int fr_host_status(const char *authority, const char *hosts, const char *allowed);

// FR_EARG: what is in the list `allowed` is no name.
fr_status fr_host_check_list(const char *allowed, fr_error *err);

#endif
