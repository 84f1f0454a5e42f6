// shared.c — a list of open parts with the number of their users. Asking for a part looks for one
// of the same kind, target and file; giving the last use of it back closes it.
#include "draft/shared/shared.h"
#include "base/alloc.h"
#include <assert.h>

void fr_shared_open(fr_shared *s) {
    *s = (fr_shared){.first = NULL};
    pthread_mutex_init(&s->lock, NULL);
}

void fr_shared_close(fr_shared *s) {
    assert(!s->first);
    pthread_mutex_destroy(&s->lock);
}

static bool same_file(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static fr_shared_part *find(const fr_shared *s, const fr_shared_kind *kind, const fr_model *target,
                            const struct stat *file) {
    for (fr_shared_part *p = s->first; p; p = p->next)
        if (p->kind == kind && p->target == target && same_file(&p->file, file)) return p;
    return NULL;
}

fr_shared_part *fr_shared_own(const fr_shared_kind *kind, const fr_model *target) {
    fr_shared_part *p = fr_alloc_zero(kind->bytes);
    if (p) *p = (fr_shared_part){.kind = kind, .target = target, .users = 1};
    return p;
}

static fr_status open_part(fr_shared_part **out, const fr_shared_kind *kind, const char *path,
                           const fr_drafter_config *config, const void *with, fr_error *err) {
    fr_shared_part *p = fr_shared_own(kind, config->model);
    if (!p) return fr_fail(err, FR_ENOMEM, "cannot get %zu bytes", kind->bytes);
    const fr_status st = kind->open(p, path, config, with, err);
    if (st)
        fr_free(p);
    else
        *out = p;
    return st;
}

// The file's identity is read before it is opened: a file that is replaced in between is opened
// again by the next caller.
static fr_status find_or_open(fr_shared_part **out, const fr_shared_kind *kind, const char *path,
                              const fr_drafter_config *config, const void *with, fr_error *err) {
    fr_shared *s = config->shared;
    struct stat file;
    if (stat(path, &file))
        return open_part(out, kind, path, config, with, err); // which reports the error
    if ((*out = find(s, kind, config->model, &file))) {
        (*out)->users++;
        return FR_OK;
    }
    const fr_status st = open_part(out, kind, path, config, with, err);
    if (st) return st;
    (*out)->file = file;
    (*out)->owner = s;
    (*out)->next = s->first;
    s->first = *out;
    return FR_OK;
}

fr_status fr_shared_take(fr_shared_part **out, const fr_shared_kind *kind, const char *path,
                         const fr_drafter_config *config, const void *with, fr_error *err) {
    *out = NULL;
    if (!config->shared) return open_part(out, kind, path, config, with, err);
    pthread_mutex_lock(&config->shared->lock);
    const fr_status st = find_or_open(out, kind, path, config, with, err);
    pthread_mutex_unlock(&config->shared->lock);
    return st;
}

static void leave_list(fr_shared_part *p) {
    fr_shared_part **at = &p->owner->first;
    while (*at != p)
        at = &(*at)->next;
    *at = p->next;
}

static void close_part(fr_shared_part *p) {
    p->kind->close(p);
    fr_free(p);
}

void fr_shared_give_back(fr_shared_part *p) {
    if (!p) return;
    fr_shared *s = p->owner;
    if (!s) {
        close_part(p);
        return;
    }
    pthread_mutex_lock(&s->lock);
    assert(p->users > 0);
    const bool last = --p->users == 0;
    if (last) leave_list(p);
    pthread_mutex_unlock(&s->lock);
    if (last) close_part(p);
}
