// manifest.h — an Ollama manifest: JSON that lists the parts of a model by their digests.
#ifndef FR_CATALOG_MANIFEST_H
#define FR_CATALOG_MANIFEST_H
#include "base/status.h"

enum { FR_DIGEST = 65, FR_MANIFEST_MAX = 1 << 20 };

// The 64 hexadecimal digits of the part that is the model, and a NUL. Digits alone come out of a
// manifest, so that none can name a file elsewhere. FR_EDATA: it is not JSON, lists no model or
// several, or its digest is none; FR_ENOMEM. The sentence is a half one, without the file's name.
fr_status fr_manifest_read(char digest[FR_DIGEST], const char *json, size_t bytes, fr_error *err);

#endif
