// infill.h — the prompt of /infill.
#ifndef FR_SERVE_INFILL_H
#define FR_SERVE_INFILL_H
#include "serve/server.h"

// Appends the ids of the texts around a gap, as much of them as fits a context. The caller has
// checked the body's other fields. If the texts are much longer, only the part that may fit is
// read. FR_EINTR by `watch` (or NULL), FR_ENOMEM.
fr_status fr_infill_join(const fr_server *s, const json_t *root, json_t *ids, const fr_watch *watch,
                         fr_error *err);

#endif
