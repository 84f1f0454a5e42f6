// access.h — whether a request is allowed, by its key and by the host name in it; and its peer.
#ifndef FR_SERVE_ACCESS_H
#define FR_SERVE_ACCESS_H
#include "serve/exchange.h"

// Checks the headers before anything else is read: 400, 401 or 403, or 0 if they are allowed.
// Stores the key. The route must be set.
int fr_access_status(fr_exchange *x);

void fr_access_name_peer(fr_exchange *x);

#endif
