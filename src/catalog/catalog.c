// catalog.c — looks into every folder in turn.
#include "catalog/catalog.h"
#include "base/alloc.h"
#include "catalog/walk.h"
#include <sys/stat.h>

const char *fr_store_name(fr_store store) {
    static const char *const names[] = {"Hugging Face", "llama.cpp", "Ollama", "LM Studio"};
    return names[store];
}

static fr_status look_into(fr_walk *w, const fr_catalog_folder *f) {
    switch (f->store) {
    case FR_STORE_HUGGING_FACE:
        return fr_walk_hugging_face(w, f->path);
    case FR_STORE_LLAMA_CPP: {
        const fr_status st = fr_walk_hugging_face(w, f->path);
        return st ? st : fr_walk_llama_cpp(w, f->path);
    }
    case FR_STORE_OLLAMA:
        return fr_walk_ollama(w, f->path);
    case FR_STORE_LM_STUDIO:
        return fr_walk_lm_studio(w, f->path);
    }
    return FR_OK;
}

fr_status fr_catalog_open(fr_catalog *c, fr_error *err) {
    fr_walk w = {.catalog = c, .left = FR_CATALOG_VISITS, .err = err};
    struct stat s;
    *c = (fr_catalog){0};
    fr_status st = fr_catalog_folders(c, err);
    for (; w.folder < c->n_folders && !st; w.folder++) {
        fr_catalog_folder *f = &c->folder[w.folder];
        f->found = !stat(f->path, &s);
        st = look_into(&w, f);
    }
    if (st) fr_catalog_close(c);
    return st;
}

void fr_catalog_close(fr_catalog *c) {
    for (size_t i = 0; i < c->n; i++)
        fr_free((void *)c->item[i].repo); // the first of its strings: one block holds all
    fr_free(c->item);
    fr_free(c->folder);
    *c = (fr_catalog){0};
}
