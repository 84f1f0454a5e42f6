// infill.h — the prompt of /infill.
#ifndef FR_SERVE_INFILL_H
#define FR_SERVE_INFILL_H
#include "serve/server.h"

// Appends the ids of what stands around a gap: of a body that is right but for its other fields, as
// much as fits a context. Of texts that are much longer only what may fit is read. FR_EINTR by
// `watch` (or NULL), FR_ENOMEM.
fr_status fr_infill_join(const fr_server *s, const json_t *root, json_t *ids, const fr_watch *watch,
                         fr_error *err);

#endif
