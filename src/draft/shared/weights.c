// weights.c — opens a pack as a shared part, then makes matrices, values, draft head and block at
// their first use, one at a time under the lock.
#include "draft/shared/weights.h"
#include "base/alloc.h"
#include "draft/pack/block.h"
#include "draft/shared/draft_head.h"
#include "kern/dequant.h"
#include <assert.h>
#include <math.h>

// ---------------------------------------------------------------- open and close

static fr_status begin(fr_pack_weights *w, fr_error *err) {
    const size_t n = w->pack.gguf ? fr_gguf_n_tensors(w->pack.gguf) : 0;
    w->target = w->part.target;
    pthread_mutex_init(&w->lock, NULL);
    if (w->pack.gguf) fr_gguf_fingerprint(w->pack.gguf, w->file);
    w->matrix = fr_alloc_array(n + 1, sizeof *w->matrix);
    w->values = fr_alloc_array(n + 1, sizeof *w->values);
    if (w->matrix && w->values) return FR_OK;
    return fr_fail(err, FR_ENOMEM, "pack: no memory for a table of %zu tensors", n);
}

static void close_weights(fr_shared_part *p) {
    fr_pack_weights *w = (fr_pack_weights *)p;
    const size_t n = w->pack.gguf ? fr_gguf_n_tensors(w->pack.gguf) : 0;
    for (size_t i = 0; i < n && w->matrix; i++)
        fr_matrix_close(&w->matrix[i]);
    for (size_t i = 0; i < n && w->values; i++)
        fr_free(w->values[i]);
    fr_free(w->matrix);
    fr_free(w->values);
    fr_model_close(&w->block);
    fr_matrix_close(&w->head);
    fr_pack_close(&w->pack);
    pthread_mutex_destroy(&w->lock);
}

static fr_status open_weights(fr_shared_part *p, const char *path, const fr_drafter_config *config,
                              const void *with, fr_error *err) {
    fr_pack_weights *w = (fr_pack_weights *)p;
    fr_status st = fr_pack_open_for(&w->pack, path, with, config->model, err);
    if (st) return st;
    if ((st = begin(w, err))) close_weights(p);
    return st;
}

static const fr_shared_kind KIND = {
    .bytes = sizeof(fr_pack_weights), .open = open_weights, .close = close_weights};

fr_status fr_pack_weights_take(fr_pack_weights **out, const char *path, const fr_pack_form *form,
                               const fr_drafter_config *config, fr_error *err) {
    fr_shared_part *part;
    fr_error why = {0};
    *out = NULL;
    fr_status st = fr_shared_take(&part, &KIND, path, config, form, err);
    if (st) return st;
    fr_pack_weights *w = (fr_pack_weights *)part;
    if (!(st = fr_pack_is_of(&w->pack, form, &why))) { // of another drafter: shared with those
        *out = w;
        return FR_OK;
    }
    fr_shared_give_back(part);
    return fr_fail(err, st, "%s: %s", path, why.text);
}

fr_status fr_pack_weights_own(fr_pack_weights **out, const fr_pack *pack, const fr_model *target,
                              fr_error *err) {
    fr_pack_weights *w = (fr_pack_weights *)fr_shared_own(&KIND, target);
    fr_pack mine = *pack;
    *out = NULL;
    if (!w) {
        fr_pack_close(&mine);
        return fr_fail(err, FR_ENOMEM, "pack: cannot get %zu bytes", sizeof *w);
    }
    w->pack = mine;
    const fr_status st = begin(w, err);
    if (st)
        fr_shared_give_back(&w->part);
    else
        *out = w;
    return st;
}

void fr_pack_weights_give_back(fr_pack_weights *w) {
    if (w) fr_shared_give_back(&w->part);
}

// ---------------------------------------------------------------- tensors

static size_t number_of(const fr_pack_weights *w, const fr_gguf_tensor *t) {
    assert(t);
    return (size_t)(t - fr_gguf_tensor_at(w->pack.gguf, 0));
}

fr_status fr_pack_weights_matrix(fr_pack_weights *w, const char *name, const fr_matrix **out,
                                 fr_error *err) {
    const fr_gguf_tensor *t = fr_pack_tensor(&w->pack, name);
    fr_matrix *m = &w->matrix[number_of(w, t)];
    fr_status st = FR_OK;
    assert(t->n_dims == 2);
    pthread_mutex_lock(&w->lock);
    if (!m->panels) {
        st = fr_matrix_open(m, t->type, t->data, (int)t->ne[1], (int)t->ne[0], w->target->pool,
                            name, err);
        fr_gguf_release(w->pack.gguf, t, 0, t->bytes);
    }
    pthread_mutex_unlock(&w->lock);
    *out = m;
    return st;
}

fr_status fr_pack_weights_values(fr_pack_weights *w, const char *name, const float **out,
                                 fr_error *err) {
    const fr_gguf_tensor *t = fr_pack_tensor(&w->pack, name);
    float **values = &w->values[number_of(w, t)];
    const size_t n = (size_t)(t->ne[0] * t->ne[1]);
    fr_status st = FR_OK;
    assert(t->n_dims <= 2);
    pthread_mutex_lock(&w->lock);
    if (!*values && (*values = fr_alloc_array(n, sizeof **values)))
        fr_dequant_row(t->type, t->data, *values, (int64_t)n);
    if (!*values) st = fr_fail(err, FR_ENOMEM, "%s: no memory for %zu values", name, n);
    pthread_mutex_unlock(&w->lock);
    *out = *values;
    return st;
}

// ---------------------------------------------------------------- draft head and block

static fr_status make_head(fr_pack_weights *w, fr_error *err) {
    if (w->head.panels) return FR_OK;
    return fr_draft_head_open(&w->head, w->target, w->pack.ids, w->pack.n_draft, err);
}

fr_status fr_pack_weights_head(fr_pack_weights *w, const fr_matrix **out, fr_error *err) {
    pthread_mutex_lock(&w->lock);
    const fr_status st = make_head(w, err);
    pthread_mutex_unlock(&w->lock);
    *out = &w->head;
    return st;
}

static fr_config config_of(const fr_pack *p, const fr_model *target) {
    const fr_pack_block *b = p->form->block(p);
    return (fr_config){.arch_name = "block",
                       .n_layer = 1,
                       .d = p->d,
                       .d_ff = b->d_ff,
                       .n_head = b->n_head,
                       .n_kv = b->n_kv,
                       .head_dim = b->head_dim,
                       .n_vocab = p->n_draft,
                       .n_ctx_train = target->config.n_ctx_train,
                       .eps = (float)FR_PACK_EPS,
                       .plan = {fr_plan_of_llama(b->head_dim)},
                       .embed_scale = 1,
                       .logit_scale = 1, // the draft head's rows have the target's
                       .n_rot = b->head_dim,
                       .neox = true,
                       .rope_base = b->rope_base,
                       .rope_base_local = b->rope_base,
                       .rope_factor = 1};
}

static fr_status make_block(fr_pack_weights *w, fr_error *err) {
    if (w->block.layers) return FR_OK;
    const fr_config config = config_of(&w->pack, w->target);
    const fr_status st = make_head(w, err);
    return st ? st
              : fr_model_open_block(&w->block, w->pack.gguf, &config, &w->head, w->target->kern,
                                    w->target->pool, err);
}

fr_status fr_pack_weights_block(fr_pack_weights *w, const fr_model **out, fr_error *err) {
    pthread_mutex_lock(&w->lock);
    const fr_status st = make_block(w, err);
    pthread_mutex_unlock(&w->lock);
    *out = &w->block;
    return st;
}
