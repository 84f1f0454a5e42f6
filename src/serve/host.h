// host.h — the host names that requests may have. A page can make its own name resolve to this
// machine (DNS rebinding). Its browser then takes the page for one of the server's, and the page
// could read all answers. But each of its requests has the page's name as Host. So the server
// answers only names that no page can have: addresses, localhost, and the names in its options.
#ifndef FR_SERVE_HOST_H
#define FR_SERVE_HOST_H
#include "base/status.h"

// Checks an authority ("name", "name:8080", "127.0.0.1", "[::1]:8080"). Returns 0 for localhost,
// names that end with .localhost, addresses, and names of both lists; 403 for other names; 400 if
// it is no authority. Lists are comma-separated; NULL: none; "*" in `allowed` means every name.
int fr_host_status(const char *authority, const char *hosts, const char *allowed);

// FR_EARG: an entry of the list `allowed` is no name.
fr_status fr_host_check_list(const char *allowed, fr_error *err);

#endif
