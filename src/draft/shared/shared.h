// shared.h — the data of drafters that belongs to a model, opened once and shared by all sessions
// of an engine.
//
// A drafter has two halves. The data of the *model* (a pack's weights, a second model, a datastore)
// is read-only and the same for every text. The first drafter that uses a file opens it; the last
// one closes it. The data of a *text* belongs to the drafter.
#ifndef FR_DRAFT_SHARED_SHARED_H
#define FR_DRAFT_SHARED_SHARED_H
#include "draft/shared/config.h"
#include <pthread.h>
#include <sys/stat.h>

typedef struct fr_shared_part fr_shared_part;

struct fr_shared { // an engine's
    pthread_mutex_t lock;
    fr_shared_part *first;
};

typedef struct fr_shared_kind {
    size_t bytes; // of the struct, which begins with an fr_shared_part; zeroed before `open`
    // `with` is what fr_shared_take was given. After an error nothing is left open.
    fr_status (*open)(fr_shared_part *p, const char *path, const fr_drafter_config *config,
                      const void *with, fr_error *err);
    void (*close)(fr_shared_part *p);
} fr_shared_kind;

struct fr_shared_part { // embedded first in a kind's own struct
    const fr_shared_kind *kind;
    const fr_model *target;
    fr_shared *owner; // NULL: one drafter's own
    fr_shared_part *next;
    struct stat file; // which file it is of
    int users;
};

void fr_shared_open(fr_shared *s);
void fr_shared_close(fr_shared *s); // after all users of its parts have closed them

// The part of this kind, of this file, for config->model: the one that others use, or a new one,
// which is open. A file that was replaced since is another file. Without config->shared the part is
// the caller's own. FR_ENOMEM and what the kind's `open` says.
fr_status fr_shared_take(fr_shared_part **out, const fr_shared_kind *kind, const char *path,
                         const fr_drafter_config *config, const void *with, fr_error *err);
// A zeroed part that is not shared and that the caller fills: NULL without memory.
fr_shared_part *fr_shared_own(const fr_shared_kind *kind, const fr_model *target);
void fr_shared_give_back(fr_shared_part *p); // NULL is fine

#endif
