// access.h — whether a request may ask: by its key and the name that it gives the server; and its
// peer.
#ifndef FR_SERVE_ACCESS_H
#define FR_SERVE_ACCESS_H
#include "serve/exchange.h"

// The status that the headers get before anything else: 400, 401, 403, or 0. Keeps the key. The
// route is known.
int fr_access_status(fr_exchange *x);

void fr_access_name_peer(fr_exchange *x);

#endif
