// Draft & Verify: the target drafts for itself with some of its sublayers left out, token by token,
// and verifies with all of them.  [Draft & Verify, Zhang et al. 2023, §3]
//
// A draft pass computes K and V in the layers whose attention runs. They are in scratch slots, see
// the whole model's K and V of the committed text, and are dropped before the target's pass. A pack
// (lab/train/skip_search.h), or without one a rule, determines which sublayers are left out.
#include "draft/pack/find.h"
#include "draft/self/self_draft.h"
#include "draft/self/skip_set.h"
#include <string.h>

static void pass(fr_self_draft *s, const fr_context *c, const fr_row *rows, int n) {
    fr_forward_run(c->forward, &(fr_pass){.rows = rows,
                                          .n_rows = n,
                                          .kv = (fr_kv *[]){c->kv},
                                          .n_seq = 1,
                                          .skip = fr_layer_skip_pack_of(s->base.pack)->skip});
    for (int i = 0; i < n; i++)
        memcpy(s->in + (size_t)i * (size_t)s->stride, fr_forward_final(c->forward, i),
               sizeof(float) * (size_t)s->base.pack->d);
}

static void close_layer_skip(fr_drafter *base) {
    fr_self_close((fr_self_draft *)base);
    fr_free(base);
}

static const fr_drafter_ops OPS = {.name = "layer-skip",
                                   .begin = fr_self_begin,
                                   .propose = fr_self_propose,
                                   .want = fr_no_want,
                                   .got = fr_no_got,
                                   .extend = fr_no_extend,
                                   .observe = fr_self_observe,
                                   .report = fr_no_report,
                                   .close = close_layer_skip};

// ---------------------------------------------------------------- open

// Every token of the target, and the sublayers that a rule names.
static fr_status default_pack(fr_pack *p, const fr_model *target, fr_error *err) {
    const fr_config *c = &target->config;
    *p = (fr_pack){.form = &fr_layer_skip_form,
                   .d = c->d,
                   .n_vocab = c->n_vocab,
                   .n_draft = c->n_vocab,
                   .depth = FR_SELF_LEVELS};
    fr_layer_skip_pack *own = p->settings = fr_alloc_zero(sizeof *own);
    p->ids = p->ids_memory = fr_alloc_array((size_t)c->n_vocab, sizeof *p->ids_memory);
    if (!p->ids || !own) {
        fr_pack_close(p);
        return fr_fail(err, FR_ENOMEM, "layer-skip: no memory for %d ids", c->n_vocab);
    }
    for (int i = 0; i < c->n_vocab; i++)
        p->ids_memory[i] = i;
    fr_skip_default(target, own->skip);
    return FR_OK;
}

static fr_status open_trained(fr_self_draft *s, const char *file, const fr_drafter_config *config,
                              fr_error *err) {
    char found[FR_PACK_PATH];
    fr_error unsaid;
    fr_pack pack;
    if (!*file && !fr_pack_find(found, &fr_layer_skip_form, config->model->gguf, &unsaid))
        file = found;
    if (*file)
        return fr_trained_open(&s->base, &fr_layer_skip_form, &OPS, file, config, fr_self_options,
                               err);
    const fr_status st = default_pack(&pack, config->model, err);
    s->whole = true;
    return st ? st : fr_trained_open_own(&s->base, &pack, &OPS, config, fr_self_options, err);
}

static fr_status open_layer_skip(fr_drafter **out, const char *file,
                                 const fr_drafter_config *config, fr_error *err) {
    *out = NULL;
    fr_error why = {0};
    fr_self_draft *s = fr_alloc_zero(sizeof *s);
    if (!s) return fr_fail(err, FR_ENOMEM, "layer-skip: cannot get memory");
    s->base.width = 1;
    s->fixed = -1;
    s->wants = FR_WANT_FINAL;
    fr_status st = open_trained(s, file, config, err);
    if (!st) {
        const double share =
            fr_skip_trunk_share(config->model, fr_layer_skip_pack_of(s->base.pack)->skip);
        st = fr_self_open(s, config->model, share, pass, &why);
        if (st) fr_fail(err, st, "layer-skip: %s", why.text);
    }
    if (st) {
        close_layer_skip(&s->base.base);
        return st;
    }
    *out = &s->base.base;
    return FR_OK;
}

const fr_drafter_method fr_layer_skip_method = {
    .name = "layer-skip",
    .what = "the model itself without some of its sublayers",
    .file = "a pack from 'forerun-lab train' (default: the best pack found, or without one a fixed "
            "rule)",
    .options = fr_self_options,
    .pack = &fr_layer_skip_form,
    .in_auto = "prompt-lookup+layer-skip",
    .cost = 4,
    .open = open_layer_skip};
