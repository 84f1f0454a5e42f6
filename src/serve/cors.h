// cors.h — pages of which origins may ask (Fetch standard, "CORS protocol").
#ifndef FR_SERVE_CORS_H
#define FR_SERVE_CORS_H
#include <stdbool.h>

// Whether `origin` is one of a list with commas: "*" alone is any, "localhost" any page of this
// machine, from whatever port.
bool fr_origin_is_allowed(const char *list, const char *origin);

#endif
