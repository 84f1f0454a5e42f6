// setup.c — what a drafter's results depend on, as JSON: results of another setup are measured anew.
#include "base/map.h"
#include "decode/tree_option.h"
#include "draft/pack/pack.h"
#include "draft/registry.h"
#include "draft/spec.h"
#include "gguf/hash.h"
#include "lab/cmd/replay/replay.h"
#include <string.h>
#include <sys/stat.h>

enum { PRINT = FR_GGUF_FINGERPRINT };

static fr_status print_bytes(char to[PRINT], const char *path, fr_error *err) {
    fr_map m;
    fr_hash h;
    const fr_status st = fr_map_open(&m, path, err);
    if (st) return st;
    fr_hash_open(&h, 0);
    fr_hash_add(&h, m.data, m.bytes);
    fr_map_close(&m);
    snprintf(to, PRINT, "%016llx", (unsigned long long)fr_hash_value(&h));
    return FR_OK;
}

// ---------------------------------------------------------------- packs

static void add_packs(json_t *to, const fr_drafter *d) {
    for (int i = 0; i < d->n_parts; i++)
        add_packs(to, d->parts[i]);
    if (*d->file) json_array_append_new(to, json_string(d->file));
}

static fr_status find_packs(const lab_replay *r, const char *spec, json_t *packs, fr_error *err) {
    char used[64];
    fr_drafter *d;
    const bool plain = !strcmp(spec, "none");
    const fr_drafter_config config = {
        .model = &r->engine->model,
        .tokenizer = r->engine->tokenizer,
        .n_ctx = 64,
        .shared = &r->engine->shared,
        .no_adapt = true,
        .options = r->args->draft_opts.n && !plain ? r->args->draft_opts.item : NULL};
    const fr_status st = fr_drafter_open(&d, used, spec, &config, err);
    if (st) return st;
    add_packs(packs, d);
    fr_drafter_close(d);
    return FR_OK;
}

// ---------------------------------------------------------------- other files

// A pack by its size, as its fingerprint is among the packs; draft models and datastores, which
// change under their names, by their content.
static fr_status add_file(json_t *files, const char *path, fr_error *err) {
    struct stat info;
    char print[PRINT];
    fr_gguf *g;
    fr_error none;
    fr_status st = FR_OK;
    if (!*path || stat(path, &info)) return FR_OK;
    const bool model = !fr_gguf_open(&g, path, &none), pack = model && fr_pack_is(g);
    if (model)
        fr_gguf_fingerprint(g, print);
    else
        st = print_bytes(print, path, err);
    if (model) fr_gguf_close(g);
    if (!st)
        json_array_append_new(files,
                              pack ? json_integer((json_int_t)info.st_size) : json_string(print));
    return st;
}

static fr_status find_files(const char *text, json_t *files, fr_error *err) {
    fr_spec spec;
    fr_status st = fr_spec_parse(&spec, text, err);
    for (int i = 0; i < spec.n && !st; i++) {
        const char *driver = strchr(spec.part[i].driver, ':');
        st = add_file(files, spec.part[i].file, err);
        if (!st && driver) st = add_file(files, driver + 1, err);
    }
    return st;
}

// ---------------------------------------------------------------- options

// Said only where they are not what a line has without them.
static fr_status add_options(json_t *setup, const fr_cmd_args *a, fr_error *err) {
    fr_tree_size size;
    char print[PRINT];
    fr_status st = fr_tree_size_read(&size, a->tree, err);
    if (!st && size.shape.n && !(st = print_bytes(print, a->tree, err)))
        json_object_set_new(setup, "shape", json_string(print));
    if (!st && a->chat_template_file && !(st = print_bytes(print, a->chat_template_file, err)))
        json_object_set_new(setup, "template_file", json_string(print));
    if (a->chat_template) json_object_set_new(setup, "template", json_string(a->chat_template));
    if (a->ctx) json_object_set_new(setup, "ctx", json_integer(a->ctx));
    return st;
}

fr_status lab_replay_setup(const lab_replay *r, const char *spec, json_t **setup, fr_error *err) {
    const fr_cmd_args *a = r->args;
    json_t *packs = json_array(), *options = json_array(), *files = json_array();
    for (int i = 0; i < a->draft_opts.n; i++)
        json_array_append_new(options, json_string(a->draft_opts.item[i]));
    fr_status st = packs ? find_packs(r, spec, packs, err) : FR_OK;
    if (!st && files) st = find_files(spec, files, err);
    *setup = json_pack("{s:o, s:s, s:o, s:o, s:o, s:s, s:i}", "settings", lab_replay_settings(r),
                       "drafter", spec, "draft_opts", options, "packs", packs, "files", files,
                       "tree", a->tree, "drafting", LAB_DRAFTING);
    if (!st && !*setup) st = fr_fail(err, FR_ENOMEM, "replay: no memory");
    return st ? st : add_options(*setup, a, err);
}
