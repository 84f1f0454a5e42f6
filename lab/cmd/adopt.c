// adopt.c — the command adopt: a pack as it is, for another model of the same shape.
#include "cmd/output/outputs.h"
#include "lab/cmd/lab.h"
#include "lab/cmd/whole_pack.h"
#include "model/config.h"
#include "model/model.h"
#include <string.h>

static const char PRINT[] = "forerun.target.fingerprint", NAME[] = "forerun.target.name";

// A pack's matrices have the width and the vocabulary of its target.
static fr_status check_shape(const fr_gguf *pack, const fr_config *c, fr_error *err) {
    fr_pack p;
    fr_status st = fr_pack_take(&p, pack, err);
    if (st) return st;
    if (p.d != c->d || p.n_vocab != c->n_vocab)
        st = fr_fail(err, FR_EUNSUP,
                     "the pack is for a model of width %d with %d tokens, this one has %d and %d",
                     p.d, p.n_vocab, c->d, c->n_vocab);
    fr_pack_close(&p);
    return st;
}

static fr_status write_pack(const fr_gguf *pack, const fr_gguf *model, const fr_config *c,
                            const char *path, fr_error *err) {
    char print[FR_GGUF_FINGERPRINT];
    fr_gguf_writer *w;
    fr_status st = fr_gguf_writer_open(&w, err);
    if (st) return st;
    fr_gguf_fingerprint(model, print);
    fr_lab_copy_entries(w, pack, (const char *const[]){PRINT, NAME, NULL});
    fr_gguf_writer_str(w, PRINT, print);
    fr_gguf_writer_str(w, NAME, c->name);
    for (size_t i = 0; i < fr_gguf_n_tensors(pack); i++) {
        const fr_gguf_tensor *t = fr_gguf_tensor_at(pack, i);
        fr_gguf_writer_tensor(w, t->name, t->type, t->n_dims, t->ne, t->data);
    }
    st = fr_gguf_writer_finish_summed(w, FR_PACK_CHECKSUM, path, err);
    fr_gguf_writer_close(w);
    return st;
}

static fr_status adopt(const fr_cmd_args *args, fr_error *err) {
    static fr_config config; // large
    fr_gguf *pack, *model = NULL;
    fr_error why = {0};
    fr_status st = fr_gguf_open(&pack, args->init, err);
    if (st) return st;
    if (!(st = fr_gguf_open(&model, args->model, err)) &&
        !(st = fr_model_check(&config, NULL, model, err))) {
        if ((st = fr_lab_check_pack(pack, &why)) || (st = check_shape(pack, &config, &why)))
            fr_fail(err, st, "%s: %s", args->init, why.text);
        else
            st = write_pack(pack, model, &config, args->output, err);
    }
    fr_gguf_close(model);
    fr_gguf_close(pack);
    return st;
}

static int run(const fr_cmd_args *args, const fr_parsed *parsed) {
    fr_error err = {0};
    (void)parsed;
    if (!args->init) return fr_cmd_usage("adopt", "--init: a PACK is needed");
    if (!args->model) return fr_cmd_usage("adopt", "-m: a MODEL is needed");
    if (!args->output) return fr_cmd_usage("adopt", "-o: a PACK to write is needed");
    fr_output_locks locks = {0};
    fr_status st = fr_outputs_lock(&locks, "adopt", args, &err);
    if (!st) st = adopt(args, &err);
    fr_outputs_unlock(&locks);
    return st ? fr_cmd_fail(&err) : FR_EXIT_DONE;
}

// clang-format off
#define AT(member) offsetof(fr_cmd_args, member)
static const fr_option options[] = {
    {"init",   0,   FR_OPT_FILE, AT(init),   "PACK", NULL, NULL, "the pack to read", 0, 0, NULL},
    {"model",  'm', FR_OPT_FILE, AT(model),  "MODEL", NULL, NULL, "the model that it shall draft for", 0, 0, NULL},
    {"output", 'o', FR_OPT_FILE, AT(output), "PACK", NULL, NULL, "the pack to write", 0, 0, NULL},
    FR_CMD_FORCE_INIT,
    {.name = NULL}};
// clang-format on
static const fr_option_group group = {"Packs", options};

const fr_cmd lab_cmd_adopt = {
    {.name = "adopt",
     .summary = "let a pack draft for another model",
     .about =
         "A pack is opened for the model file that it was trained for alone. This command writes "
         "one that names another file, of the same width and vocabulary: a finetuned or a "
         "requantised one, or a mixture of experts that was made of it. The answers stay those "
         "of plain decoding; how often drafts are right is another matter, and the accuracy "
         "that the pack states is that of its first model.",
     .example =
         "forerun-lab adopt --init packs/smollm2-135m-eagle.gguf -m experts.gguf -o eagle.gguf",
     .groups = {&group}},
    run};
