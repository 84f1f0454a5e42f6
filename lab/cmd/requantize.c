// requantize.c — the command requantize: a pack with its matrices in another type, all else as it is.
#include "base/alloc.h"
#include "cmd/output/outputs.h"
#include "draft/pack/pack.h"
#include "kern/dequant.h"
#include "lab/cmd/lab.h"
#include "lab/cmd/whole_pack.h"
#include "train/learner/pack_write.h"
#include <string.h>

// Whether the tensor's name begins with one of the comma-separated words; NULL: any does.
static bool is_named(const char *words, const char *name) {
    for (const char *at = words; at && *at; at += *at == ',') {
        const size_t n = strcspn(at, ",");
        if (n && !strncmp(name, at, n)) return true;
        at += n;
    }
    return !words;
}

// Matrices that are kept as f16 (their reader wants them so) and vectors stay.
static bool is_matrix(const fr_gguf_tensor *t) {
    return t->n_dims == 2 && t->type != FR_TYPE_F16;
}

// The first matrix whose name begins with these `n` bytes; NULL: there is none.
static const fr_gguf_tensor *first_matrix(const fr_gguf *pack, const char *begin, size_t n) {
    for (size_t i = 0; i < fr_gguf_n_tensors(pack); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(pack, i);
        if (is_matrix(t) && !strncmp(begin, t->name, n)) return t;
    }
    return NULL;
}

// A name that was mistyped would leave the pack as it is. FR_EARG.
static fr_status check_names(const fr_gguf *pack, const char *words, fr_error *err) {
    const fr_gguf_tensor *any = first_matrix(pack, "", 0);
    for (const char *at = words; at;) {
        const size_t n = strcspn(at, ",");
        if (!n || !first_matrix(pack, at, n))
            return fr_fail(err, FR_EARG,
                           "--only: expected beginnings of matrices' names%s%s, found '%.*s', "
                           "which none of %s has",
                           any ? ", such as " : "", any ? any->name : "", (int)n, at,
                           fr_gguf_path(pack));
        at = at[n] ? at + n + 1 : NULL;
    }
    return FR_OK;
}

static fr_status change(fr_gguf_writer *w, const fr_gguf_tensor *t, fr_type type, fr_error *err) {
    const int64_t cols = t->ne[0], rows = t->ne[1];
    float *x = fr_alloc_array((size_t)rows, (size_t)cols * sizeof *x);
    if (!x) return fr_fail(err, FR_ENOMEM, "requantize: no memory for %s", t->name);
    fr_dequant_row(t->type, t->data, x, rows * cols);
    fr_pack_matrix(w, t->name, rows, cols, x, type);
    fr_free(x);
    return FR_OK;
}

static fr_status add_tensors(fr_gguf_writer *w, const fr_gguf *pack, const fr_cmd_args *args,
                             fr_error *err) {
    fr_status st = FR_OK;
    for (size_t i = 0; i < fr_gguf_n_tensors(pack) && !st; i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(pack, i);
        if (is_matrix(t) && is_named(args->only, t->name))
            st = change(w, t, fr_pack_type_for(fr_pack_type_at(args->pack_type), t->ne[0]), err);
        else
            fr_gguf_writer_tensor(w, t->name, t->type, t->n_dims, t->ne, t->data);
    }
    return st;
}

static fr_status write_pack(const fr_gguf *pack, const fr_cmd_args *args, fr_error *err) {
    fr_gguf_writer *w;
    fr_status st = fr_gguf_writer_open(&w, err);
    if (st) return st;
    fr_lab_copy_entries(w, pack, (const char *const[]){NULL});
    st = add_tensors(w, pack, args, err);
    if (!st) st = fr_gguf_writer_finish_summed(w, FR_PACK_CHECKSUM, args->output, err);
    fr_gguf_writer_close(w);
    return st;
}

static fr_status requantize(const fr_cmd_args *args, fr_error *err) {
    fr_gguf *pack;
    fr_error why = {0};
    fr_status st = fr_gguf_open(&pack, args->init, err);
    if (st) return st;
    if ((st = fr_lab_check_pack(pack, &why)))
        fr_fail(err, st, "%s: %s", args->init, why.text);
    else if (!(st = check_names(pack, args->only, err)))
        st = write_pack(pack, args, err);
    fr_gguf_close(pack);
    return st;
}

static int run(const fr_cmd_args *args, const fr_parsed *parsed) {
    fr_error err = {0};
    (void)parsed;
    if (!args->init) return fr_cmd_usage("requantize", "--init: a PACK is needed");
    if (!args->output) return fr_cmd_usage("requantize", "-o: a PACK to write is needed");
    fr_output_locks locks = {0};
    fr_status st = fr_outputs_lock(&locks, "requantize", args, &err);
    if (!st) st = requantize(args, &err);
    fr_outputs_unlock(&locks);
    return st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"init",   0,   FR_OPT_FILE,   AT(init),      "PACK", NULL, NULL, "the pack to read", 0, 0, NULL},
    {"output", 'o', FR_OPT_FILE,   AT(output),    "PACK", NULL, NULL, "the pack to write", 0, 0, NULL},
    {"type",   0,   FR_OPT_ENUM,   AT(pack_type), NULL, "q8_0", NULL, "type of the matrices; matrices whose rows are not whole blocks of 256 get q8_0 instead of a K-quant", 0, 0, FR_PACK_TYPES},
    {"only",   0,   FR_OPT_STRING, AT(only),      "NAME,...", NULL, "all", "change only matrices whose names begin with one of these", 0, 0, NULL},
    FR_CMD_FORCE_INIT,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Packs", options};

const fr_cmd lab_cmd_requantize = {
    {.name = "requantize",
     .summary = "write a pack with its matrices in another type",
     .about = "Shows what a smaller pack costs: the matrices of a pack are rounded to another "
              "type, and everything else is kept. The accuracy that the new pack states is that of "
              "the pack that was read.",
     .example =
         "forerun-lab requantize --init packs/chimera.gguf --type q4_k --only ngram -o small.gguf",
     .groups = {&group}},
    run};
