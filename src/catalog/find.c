// find.c — from a name to a model of the catalog. Every folder gives its first that fits; several
// folders may have the same model, which shows in the size.
#include "catalog/find.h"
#include "base/path.h"
#include "catalog/names.h"
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

// The parts of a name.
typedef struct wanted {
    char repo[PATH_MAX]; // without the tag
    const char *plain;   // the same without "hf.co/"
    char tag[PATH_MAX];  // "": none
    const char *name;    // all of it
} wanted;

static bool read_name(wanted *w, const char *name) {
    static const char *const hosts[] = {"hf.co/", "huggingface.co/"};
    const char *colon = strchr(fr_path_name(name), ':');
    const size_t n = colon ? (size_t)(colon - name) : strlen(name);
    if (strlen(name) >= PATH_MAX) return false;
    *w = (wanted){.name = name};
    snprintf(w->repo, sizeof w->repo, "%.*s", (int)n, name);
    snprintf(w->tag, sizeof w->tag, "%s", colon ? colon + 1 : "");
    w->plain = w->repo;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        if (fr_name_begins(w->plain, hosts[i])) w->plain += strlen(hosts[i]);
    return true;
}

static bool is_ollama(const fr_catalog *c, const fr_catalog_item *item) {
    return c->folder[item->folder].store == FR_STORE_OLLAMA;
}

// Whether the file lies in llama.cpp's older cache, where names of files differ.
static bool is_flat(const fr_catalog *c, const fr_catalog_item *item) {
    const fr_catalog_folder *f = &c->folder[item->folder];
    return f->store == FR_STORE_LLAMA_CPP && fr_path_folder(item->path) == strlen(f->path) + 1;
}

// There a file of unknown repository begins with it, its slash written '_'.
static bool is_flat_of(const fr_catalog_item *item, const char *repo) {
    char begin[PATH_MAX];
    snprintf(begin, sizeof begin, "%s", repo);
    char *slash = strchr(begin, '/');
    if (!slash) return false;
    *slash = '_';
    return fr_name_begins(item->file, begin) && item->file[strlen(begin)] == '_';
}

static bool is_of(const fr_catalog *c, const fr_catalog_item *item, const wanted *w) {
    if (is_ollama(c, item)) return fr_name_same(item->repo, w->repo);
    if (!*item->repo) return is_flat_of(item, w->plain);
    return fr_name_same(item->repo, w->plain);
}

// Whether the name is of this file and no other of its folder.
static bool is_exactly(const fr_catalog *c, const fr_catalog_item *item, const wanted *w) {
    const size_t n = strlen(item->repo);
    if (is_ollama(c, item))
        return fr_name_same(item->repo, w->repo) &&
               fr_name_same(item->file, *w->tag ? w->tag : "latest");
    if (is_flat(c, item) && !strcmp(fr_path_name(item->path), w->name)) return true;
    if (*w->tag) return false;
    return n && fr_name_begins(w->plain, item->repo) && w->plain[n] == '/' &&
           fr_name_same(w->plain + n + 1, item->file);
}

static bool same_size(const char *a, const char *b) {
    struct stat x, y;
    return !stat(a, &x) && !stat(b, &y) && x.st_size == y.st_size;
}

typedef struct choice {
    const fr_catalog_item *first, *other; // other: a different one of another folder, or NULL
} choice;

// Takes the item where it is the first of its folder.
static void offer(choice *found, const fr_catalog_item *item, int *folder) {
    if (item->folder == *folder) return;
    *folder = item->folder;
    if (!found->first)
        found->first = item;
    else if (!found->other && !same_size(found->first->path, item->path))
        found->other = item;
}

static choice choose(const fr_catalog *c, const wanted *w) {
    const char *const usual[] = {"Q4_K_M", "Q8_0", ""}, *const given[] = {w->tag};
    const char *const *tags = *w->tag ? given : usual;
    choice found = {0};
    int folder = -1;
    for (size_t i = 0; i < c->n; i++)
        if (is_exactly(c, &c->item[i], w)) offer(&found, &c->item[i], &folder);
    folder = -1;
    for (int k = 0; k < (*w->tag ? 1 : 3) && folder < 0; k++)
        for (size_t i = 0; i < c->n; i++) {
            const fr_catalog_item *item = &c->item[i];
            if (is_ollama(c, item) || !is_of(c, item, w)) continue;
            if (!*tags[k] || fr_name_has_quant(item->file, tags[k])) offer(&found, item, &folder);
        }
    return found;
}

static fr_status ambiguous(const choice *found, const char *name, fr_error *err) {
    return fr_fail(err, FR_EIO, "%.100s: is two different files, %.150s and %.150s: give a path",
                   name, found->first->path, found->other->path);
}

fr_status fr_catalog_find(const fr_catalog *c, const char *name, const fr_catalog_item **out,
                          fr_error *err) {
    wanted w;
    *out = NULL;
    if (!read_name(&w, name)) return fr_fail(err, FR_EIO, "%.100s...: too long a name", name);
    const choice found = choose(c, &w);
    if (found.other) return ambiguous(&found, name, err);
    if (found.first && found.first->fault)
        return fr_fail(err, FR_EDATA, "%.100s: %.200s: %.150s", name, found.first->path,
                       found.first->fault);
    *out = found.first;
    if (*out) return FR_OK;
    for (size_t i = 0; i < c->n; i++)
        if (is_of(c, &c->item[i], &w)) return fr_name_has_no(c, name, c->item[i].repo, err);
    return fr_name_unknown(c, name, err);
}

// Whether the name leads to this item. No sentence is made where it does not: sentences have names.
static bool is_found_by(const fr_catalog *c, const fr_catalog_item *item, const char *name) {
    wanted w;
    if (!read_name(&w, name)) return false;
    const choice found = choose(c, &w);
    return found.first == item && !found.other && !item->fault;
}

void fr_catalog_name(const fr_catalog *c, const fr_catalog_item *item, char name[FR_CATALOG_NAME]) {
    const char *quant;
    const int n = (int)fr_name_quant(item->file, &quant);
    if (is_ollama(c, item))
        snprintf(name, FR_CATALOG_NAME, "%s:%s", item->repo, item->file);
    else
        snprintf(name, FR_CATALOG_NAME, "%s:%.*s", item->repo, n, quant);
    if (*item->repo && (n || is_ollama(c, item)) && (item->fault || is_found_by(c, item, name)))
        return;
    snprintf(name, FR_CATALOG_NAME, "%s%s%s", item->repo, *item->repo ? "/" : "", item->file);
    if (is_found_by(c, item, name)) return;
    snprintf(name, FR_CATALOG_NAME, "%s", item->path);
}
