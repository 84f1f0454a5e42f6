// folders.c — where others keep models: the variables that they read themselves, in their order.
// One that is set to nothing counts as not set.
#include "base/alloc.h"
#include "catalog/walk.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *value(const char *variable) {
    const char *text = getenv(variable);
    return text && *text ? text : NULL;
}

// A folder that is not listed yet; base NULL: none.
static void add(fr_catalog *c, fr_store store, const char *base, const char *tail) {
    if (!base || c->n_folders == FR_CATALOG_FOLDERS) return;
    fr_catalog_folder *f = &c->folder[c->n_folders];
    if (*tail ? !fr_path_join(f->path, base, tail)
              : snprintf(f->path, sizeof f->path, "%s", base) >= PATH_MAX)
        return;
    for (size_t n = strlen(f->path); n > 1 && f->path[n - 1] == '/'; n--)
        f->path[n - 1] = 0;
    for (int i = 0; i < c->n_folders; i++)
        if (c->folder[i].store == store && !strcmp(c->folder[i].path, f->path)) return;
    f->store = store;
    c->n_folders++;
}

static void add_hugging_face(fr_catalog *c, const char *home) {
    const fr_store store = FR_STORE_HUGGING_FACE;
    if (value("HF_HUB_CACHE"))
        add(c, store, value("HF_HUB_CACHE"), "");
    else if (value("HUGGINGFACE_HUB_CACHE"))
        add(c, store, value("HUGGINGFACE_HUB_CACHE"), "");
    else if (value("HF_HOME"))
        add(c, store, value("HF_HOME"), "hub");
    else if (value("XDG_CACHE_HOME"))
        add(c, store, value("XDG_CACHE_HOME"), "huggingface/hub");
    else
        add(c, store, home, ".cache/huggingface/hub");
}

static void add_llama_cpp(fr_catalog *c, const char *home) {
    const fr_store store = FR_STORE_LLAMA_CPP;
    if (value("LLAMA_CACHE"))
        add(c, store, value("LLAMA_CACHE"), "");
    else if (value("XDG_CACHE_HOME"))
        add(c, store, value("XDG_CACHE_HOME"), "llama.cpp");
    else
        add(c, store, home, ".cache/llama.cpp");
}

fr_status fr_catalog_folders(fr_catalog *c, fr_error *err) {
    const char *home = value("HOME");
    c->folder = fr_alloc_array(FR_CATALOG_FOLDERS, sizeof *c->folder);
    if (!c->folder) return fr_fail(err, FR_ENOMEM, "no memory for the names of folders");
    add_hugging_face(c, home);
    add_llama_cpp(c, home);
    if (value("OLLAMA_MODELS")) {
        add(c, FR_STORE_OLLAMA, value("OLLAMA_MODELS"), "");
    } else {
        add(c, FR_STORE_OLLAMA, home, ".ollama/models");
        add(c, FR_STORE_OLLAMA, "/usr/share/ollama/.ollama/models", "");
    }
    add(c, FR_STORE_LM_STUDIO, home, ".lmstudio/models");
    add(c, FR_STORE_LM_STUDIO, home, ".cache/lm-studio/models");
    return FR_OK;
}
