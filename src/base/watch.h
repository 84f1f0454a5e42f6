// watch.h — long work polls a watch to learn whether its result is still wanted.
#ifndef FR_BASE_WATCH_H
#define FR_BASE_WATCH_H
#include "base/status.h"
#include <stdbool.h>

typedef struct fr_watch {
    bool (*go_on)(void *user); // cheap; false once, false from then on
    void *user;
} fr_watch;

// Without a watch (NULL) the work continues to its end.
static inline bool fr_go_on(const fr_watch *w) {
    return !w || w->go_on(w->user);
}

// The same as a status: FR_EINTR where the result is not wanted any more.
static inline fr_status fr_watch_ask(const fr_watch *w, fr_error *err) {
    return fr_go_on(w) ? FR_OK : fr_fail(err, FR_EINTR, "interrupted");
}

#endif
