// access.h — who asks, and whether that one may: by the key of a request and the name that it gives the
// server.
#ifndef FR_SERVE_ACCESS_H
#define FR_SERVE_ACCESS_H
#include "serve/exchange.h"

// What the headers get before anything else: 0, or 400, 401, 403. Keeps the key. Its route is known.
int fr_access_status(fr_exchange *x);

void fr_access_name_peer(fr_exchange *x);

#endif
