// cors.h — the origins whose pages may send requests (Fetch standard, "CORS protocol").
#ifndef FR_SERVE_CORS_H
#define FR_SERVE_CORS_H
#include <stdbool.h>

// Whether `origin` is in a comma-separated list. "*" alone means any origin, "localhost" any page
// of this machine, from any port.
bool fr_origin_is_allowed(const char *list, const char *origin);

#endif
