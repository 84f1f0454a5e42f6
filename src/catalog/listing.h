// listing.h — the names in a folder, in order of their bytes. Private to src/catalog.
#ifndef FR_CATALOG_LISTING_H
#define FR_CATALOG_LISTING_H
#include "base/buffer.h"

typedef struct fr_listing { // {0} is empty
    fr_buffer text;
    const char **name; // [n]; the byte before a name is its d_type
    size_t n;
} fr_listing;

// Reads all but hidden names. *unread: errno where the folder cannot be read, then there are none,
// else 0. FR_ENOMEM.
fr_status fr_listing_read(fr_listing *l, const char *folder, int *unread, fr_error *err);
void fr_listing_free(fr_listing *l);

#endif
