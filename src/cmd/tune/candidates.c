// candidates.c — which drafters there are for a model.
#include "base/path.h"
#include "cmd/tune/tune.h"
#include "draft/pack/find.h"
#include "draft/registry.h"
#include "draft/retrieval/datastore.h"
#include "draft/spec.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MODELS_MAX = 8 }; // files tried as draft models

static off_t size_of(const char *path) {
    struct stat s;
    return !stat(path, &s) && S_ISREG(s.st_mode) ? s.st_size : -1;
}

// A SPEC cannot name files with these in their names.
static bool can_be_named(const char *path) {
    return strlen(path) < 400 && !strpbrk(path, "+,@");
}

static fr_status add(fr_buffer *room, const char *prefix, const char *path, fr_error *err) {
    fr_status st = fr_buffer_add(room, prefix, strlen(prefix), err);
    if (!st) st = fr_buffer_add(room, path, strlen(path) + 1, err);
    return st;
}

// Called for every file with a given ending in the folder of `model` that a SPEC can name.
typedef fr_status beside_fn(void *user, const char *path, off_t size, fr_error *err);

static fr_status each_beside(const char *model, const char *ending, beside_fn *visit, void *user,
                             fr_error *err) {
    char dir[4096], path[4096 + 300];
    const int n = (int)fr_path_folder(model);
    fr_status st = FR_OK;
    if (n >= (int)sizeof dir) return FR_OK;
    snprintf(dir, sizeof dir, "%.*s", n, model);
    DIR *d = opendir(n ? dir : ".");
    for (struct dirent *e; d && !st && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s%s", dir, e->d_name);
        const off_t size = size_of(path);
        if (fr_path_ends(path, ending) && can_be_named(path) && size >= 0)
            st = visit(user, path, size, err);
    }
    if (d) closedir(d);
    return st;
}

typedef struct models {
    fr_buffer *room;
    off_t most;
    int found;
} models;

// Packs may lie there too: they are no models.
static fr_status add_model(void *user, const char *path, off_t size, fr_error *err) {
    models *m = user;
    if (m->found == MODELS_MAX || size > m->most || fr_pack_is_file(path)) return FR_OK;
    m->found++;
    return add(m->room, "prompt-lookup+draft-model:", path, err);
}

static fr_status add_models(const char *model, fr_buffer *room, fr_error *err) {
    models m = {.room = room, .most = size_of(model) / 4 * 3};
    return each_beside(model, ".gguf", add_model, &m, err);
}

// Packs that lie where they are found again, so that SPECs need not name them.
static fr_status add_packs(const fr_gguf *model, fr_buffer *room, fr_error *err) {
    char path[FR_PACK_PATH];
    fr_error none;
    fr_status st = FR_OK;
    const fr_drafter_method *m;
    for (int i = 0; (m = fr_drafter_method_at(i)) && !st; i++)
        if (m->in_auto && !fr_pack_find(path, m->pack, model, &none))
            st = add(room, "", m->in_auto, err);
    return st;
}

fr_status fr_tune_candidates(const fr_gguf *model, fr_buffer *room, fr_strings *specs,
                             fr_error *err) {
    fr_status st = add(room, "", "prompt-lookup", err);
    if (!st) st = add_packs(model, room, err);
    if (!st) st = add_models(fr_gguf_path(model), room, err);
    specs->n = 0;
    for (size_t at = 0; !st && at < room->n; at += strlen(room->data + at) + 1)
        specs->item[specs->n++] = room->data + at;
    specs->item[specs->n] = NULL;
    return st;
}

// ---------------------------------------------------------------- whole paths

static fr_status add_text(fr_buffer *to, const char *text, fr_error *err) {
    return fr_buffer_add(to, text, strlen(text), err);
}

static fr_status add_whole(fr_buffer *to, const char *mark, const char *file, fr_error *err) {
    char *whole = realpath(file, NULL);
    fr_status st = add_text(to, mark, err);
    if (!st) st = add_text(to, whole ? whole : file, err);
    free(whole);
    return st;
}

// "NAME:FILE@NAME:FILE" of a part.
static fr_status add_part(fr_buffer *to, const fr_spec_part *p, fr_error *err) {
    char driver[FR_SPEC_FILE];
    fr_status st = add_text(to, fr_drafter_method_at(p->drafter)->name, err);
    if (!st && *p->file) st = add_whole(to, ":", p->file, err);
    if (st || !*p->driver) return st;
    strcpy(driver, p->driver);
    char *file = strchr(driver, ':');
    if (file) *file++ = 0;
    st = add_text(to, "@", err);
    if (!st) st = add_text(to, driver, err);
    return st || !file ? st : add_whole(to, ":", file, err);
}

fr_status fr_tune_spec(char whole[FR_PROFILE_SPEC], const char *spec, fr_error *err) {
    fr_buffer text = {0};
    fr_spec *s = calloc(1, sizeof *s);
    fr_status st =
        s ? fr_spec_parse(s, spec, err) : fr_fail(err, FR_ENOMEM, "tune: no memory for a SPEC");
    for (int i = 0; s && i < s->n && !st; i++) {
        if (i) st = add_text(&text, "+", err);
        if (!st) st = add_part(&text, &s->part[i], err);
    }
    if (!st && text.n >= FR_PROFILE_SPEC)
        st = fr_fail(err, FR_EARG,
                     "--drafter %.80s...: expected at most %d bytes with whole paths, found %zu",
                     spec, FR_PROFILE_SPEC - 1, text.n);
    if (!st) snprintf(whole, FR_PROFILE_SPEC, "%.*s", (int)text.n, text.data);
    fr_buffer_free(&text);
    free(s);
    return st;
}

// ---------------------------------------------------------------- datastores

typedef struct stores {
    char vocab[FR_VOCAB_NAME];
    char *largest;
    off_t size;
} stores;

static fr_status look_at_store(void *user, const char *path, off_t size, fr_error *err) {
    stores *s = user;
    fr_datastore store;
    fr_error unsaid;
    (void)err;
    if (size <= s->size || fr_datastore_open(&store, path, &unsaid)) return FR_OK;
    char *whole = strcmp(store.vocab, s->vocab) ? NULL : realpath(path, NULL);
    fr_datastore_close(&store);
    if (whole && can_be_named(whole)) {
        snprintf(s->largest, FR_PROFILE_SPEC, "%s", whole);
        s->size = size;
    }
    free(whole);
    return FR_OK;
}

void fr_tune_store(const char *model, const fr_tokenizer *t, char path[FR_PROFILE_SPEC]) {
    stores s = {.largest = path};
    fr_error unsaid;
    *path = 0;
    fr_vocab_name(t, s.vocab);
    each_beside(model, ".frd", look_at_store, &s, &unsaid);
}
