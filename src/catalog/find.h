// find.h — sentences for a name that is not found. Private to src/catalog.
#ifndef FR_CATALOG_FIND_H
#define FR_CATALOG_FIND_H
#include "catalog/catalog.h"

// The repository is there, the quantization or the tag is not: names those that are. FR_EIO.
fr_status fr_name_has_no(const fr_catalog *c, const char *name, const char *repo, fr_error *err);
// Reports that no model has the name, with the searched folders and similar names. FR_EIO.
fr_status fr_name_unknown(const fr_catalog *c, const char *name, fr_error *err);

#endif
