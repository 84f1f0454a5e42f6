// unrolled_start.c — options of a chain, its size, and the values that training begins with.
//
// At first the block passes its state on: W_f is the identity and the sub-layers add little. So G
// is near the target's states.
#include "draft/eagle/train/learn_eagle.h"
#include "kern/repack.h"
#include "train/learner/setting.h"
#include <string.h>

// ---------------------------------------------------------------- options
static bool read_init(const char *word, fr_unrolled_init *out) {
    static const char *const words[] = {"init=fit", "init=random", "init=target",
                                        "init=last-layer"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(word, words[i])) {
            *out = (fr_unrolled_init)i;
            return true;
        }
    return false;
}

typedef struct word { // KEY=VALUE
    const char *key, *expects;
    bool hidden; // of hidden-state alone
    bool eagle;  // of eagle alone
} word;
typedef enum which {
    FFN,
    DEPTH,
    FEATURE,
    INIT,
    RISE,
    TAPS,
    RANK,
    GATE,
    INJECT,
    PURE,
    ZTAIL,
    FEED
} which;
enum { N_WORDS = FEED + 1 };
static const word words_known[N_WORDS] = {
    [FFN] = {"ffn", "a multiple of 32, 32 to 65536", false, false},
    [DEPTH] = {"depth", "1 to 8", false, false},
    [FEATURE] = {"feature", "0 to 100", false, false},
    [INIT] = {"init", "fit, random, target or last-layer", false, false},
    [RISE] = {"steps-rise", "0 or 1", false, false},
    [TAPS] = {"taps", "up to 8 layers, ascending, or none", false, true},
    [RANK] = {"rank", "1 to 1024", true, false},
    [GATE] = {"gate", "0 or 1", true, false},
    [INJECT] = {"inject", "0 or 1", true, false},
    [PURE] = {"pure", "0 or 1", true, false},
    [ZTAIL] = {"ztail", "0 to 100", true, false},
    [FEED] = {"feed", "0 to 1", true, false},
};

static bool ascends(const int *list, int n) {
    for (int i = 1; i < n; i++)
        if (list[i] <= list[i - 1]) return false;
    return true;
}

static bool read_taps(fr_unrolled_options *o, const char *text, const char *key) {
    o->n_taps = 0;
    if (!strcmp(text, "taps=none")) return true;
    return fr_setting_list(text, key, 0, FR_MAX_LAYERS, o->taps, FR_SHARD_TAPS, &o->n_taps) &&
           ascends(o->taps, o->n_taps);
}

static bool set_word(fr_unrolled_options *o, which key_of, const char *text, bool *inject) {
    const char *key = words_known[key_of].key;
    switch (key_of) {
    case FFN:
        return fr_setting_int(text, key, 32, 1 << 16, &o->ffn) && o->ffn % 32 == 0;
    case DEPTH:
        return fr_setting_int(text, key, 1, FR_DEPTHS, &o->depth);
    case FEATURE:
        return fr_setting_float(text, key, 0, 100, &o->feature);
    case INIT:
        return read_init(text, &o->init);
    case RISE:
        return fr_setting_switch(text, key, &o->rise);
    case TAPS:
        return read_taps(o, text, key);
    case RANK:
        return fr_setting_int(text, key, 1, 1024, &o->rank);
    case GATE:
        return fr_setting_switch(text, key, &o->gate);
    case INJECT:
        return fr_setting_switch(text, key, inject);
    case PURE:
        return fr_setting_switch(text, key, &o->pure);
    case ZTAIL:
        return fr_setting_float(text, key, 0, 100, &o->ztail);
    case FEED:
        return fr_setting_float(text, key, 0, 1, &o->feed);
    }
    return false;
}

static fr_status read_word(fr_unrolled_options *o, const char *text, bool *inject, fr_error *err) {
    const char *equals = strchr(text, '=');
    const size_t n = equals ? (size_t)(equals - text) : strlen(text);
    for (int i = 0; i < N_WORDS; i++) {
        const word *w = &words_known[i];
        if (strlen(w->key) != n || strncmp(text, w->key, n)) continue;
        if (o->kind == FR_UNROLLED_HIDDEN_STATE ? w->eagle : w->hidden) continue;
        if (set_word(o, (which)i, text, inject)) return FR_OK;
        return fr_fail(err, FR_EARG, "--set %.64s: expected %s=VALUE, %s", text, w->key,
                       w->expects);
    }
    return fr_fail(err, FR_EARG, "--set %.64s: %s knows ffn, depth, feature, init, steps-rise%s",
                   text, o->kind == FR_UNROLLED_HIDDEN_STATE ? "hidden-state" : "eagle",
                   o->kind == FR_UNROLLED_HIDDEN_STATE ? ", rank, gate, inject, pure, ztail, feed"
                                                       : ", taps");
}

fr_status fr_unrolled_read_options(fr_unrolled_options *o, fr_unrolled_kind kind, int depth,
                                   const char *const *words, fr_error *err) {
    const bool hidden = kind == FR_UNROLLED_HIDDEN_STATE;
    bool inject = hidden;
    *o = (fr_unrolled_options){.kind = kind,
                               .rank = 64,
                               .gate = hidden,
                               .feature = 0.1f,
                               .ztail = 0.1f,
                               .feed = hidden ? 0.5f : 1,
                               .depth = depth ? depth : 4};
    for (; words && *words; words++) {
        const fr_status st = read_word(o, *words, &inject, err);
        if (st) return st;
    }
    if (o->depth < 1 || o->depth > FR_DEPTHS)
        return fr_fail(err, FR_EARG, "depth %d: expected 1 to %d", o->depth, FR_DEPTHS);
    if (!inject) o->rank = 0;
    if (o->pure) o->feed = 0;
    return FR_OK;
}

// Small targets take a wide block, wide ones a narrow one: 4 million parameters at width 576, 20
// million at 1536.
static int default_ffn(int d) {
    const int wanted = d < 1024 ? d * 8 / 3 : d * 4 / 3;
    return wanted < 64 ? 32 : wanted / 64 * 64;
}

static bool takes_layer(const fr_unrolled_options *o) {
    return o->init == FR_UNROLLED_TARGET || o->init == FR_UNROLLED_LAST_LAYER;
}

static float rope_base_of(const fr_unrolled_options *o, const fr_config *t) {
    if (o->rope_base > 0) return o->rope_base;
    return takes_layer(o) ? t->rope_base : 10000;
}

fr_unrolled_shape fr_unrolled_shape_of(const fr_unrolled_options *o, const fr_config *t,
                                       int max_rows) {
    return (fr_unrolled_shape){.d = t->d,
                               .n_head = t->n_head,
                               .n_kv = t->n_kv,
                               .head_dim = t->head_dim,
                               .d_ff = o->ffn ? o->ffn : default_ffn(t->d),
                               .rope_base = rope_base_of(o, t),
                               .token = !o->pure,
                               .null = o->kind == FR_UNROLLED_HIDDEN_STATE && !o->pure,
                               .taps = o->n_taps,
                               .depth = o->depth,
                               .max_rows = max_rows};
}

int fr_unrolled_steps(const fr_unrolled_options *o, double done) {
    if (!o->rise || done > fr_unrolled_settled(o)) return o->depth;
    return done > fr_unrolled_settled(o) / 2 ? (o->depth + 1) / 2 : 1;
}

double fr_unrolled_settled(const fr_unrolled_options *o) {
    return o->rise ? 2.0 / 3 : 0;
}

static int place_of(const fr_shard_format *f, int layer) {
    for (int i = 0; i < f->n_taps; i++)
        if (f->taps[i] == layer) return i;
    return -1;
}

fr_status fr_unrolled_find_taps(const fr_unrolled_options *o, const fr_shard_format *format,
                                int n_layer, int at[FR_SHARD_TAPS], fr_error *err) {
    for (int t = 0; t < o->n_taps; t++) {
        if (o->taps[t] > n_layer)
            return fr_fail(err, FR_EARG, "--set taps: expected layers up to %d, found %d", n_layer,
                           o->taps[t]);
        at[t] = o->taps[t] < n_layer ? place_of(format, o->taps[t]) : -1;
        if (at[t] < 0 && o->taps[t] < n_layer)
            return fr_fail(err, FR_EARG, "--set taps: the data has no states of layer %d",
                           o->taps[t]);
    }
    return FR_OK;
}

// ---------------------------------------------------------------- first values
static void fill(const fr_params *p, int i, float value) {
    if (i < 0) return;
    float *w = fr_param_w(p, i);
    for (int c = 0; c < p->item[i].rows * p->item[i].cols; c++)
        w[c] = value;
}

// The state is the highest row.
static void start_taps(const fr_unrolled *c) {
    const size_t d = (size_t)c->shape.d, k = d * (size_t)c->shape.taps;
    fill(c->params, c->at.taps_norm, 1);
    for (size_t i = 0; i < d && c->shape.taps; i++)
        fr_param_w(c->params, c->at.fc_taps)[i * k + k - d + i] = 1;
}

static void start_random(fr_unrolled *c, const fr_model *target, uint64_t seed) {
    const fr_params *p = c->params;
    const fr_unrolled_params *at = &c->at;
    const int d = c->shape.d;
    start_taps(c);
    fill(p, at->state_norm, 1);
    fill(p, at->token_norm, 1);
    fill(p, at->attn_norm, 1);
    fill(p, at->ffn_norm, 1);
    memcpy(fr_param_w(p, at->out_norm), target->output_norm.w, (size_t)d * sizeof(float));
    for (int i = 0; i < d && at->fc_state >= 0; i++)
        fr_param_w(p, at->fc_state)[(size_t)i * (size_t)d + (size_t)i] = 1;
    fr_param_random_matrix(p, at->fc_token, 0.5f, seed);
    if (at->null >= 0) fr_param_random(p, at->null, 1, seed);
    fr_param_random_matrix(p, at->q, 1, seed);
    fr_param_random_matrix(p, at->k, 1, seed);
    fr_param_random_matrix(p, at->v, 1, seed);
    fr_param_random_matrix(p, at->o, 0.25f, seed);
    fr_param_random_matrix(p, at->gate, 1, seed);
    fr_param_random_matrix(p, at->up, 1, seed);
    fr_param_random_matrix(p, at->down, 0.25f, seed);
}

// Heads' rows of a file that turns neighbours (2i, 2i+1) are put in the order of halves.
static int source_row(const fr_config *t, int row) {
    if (t->neox) return row;
    const int half = t->head_dim / 2, head = row / t->head_dim, i = row % t->head_dim;
    return head * t->head_dim + (i < half ? 2 * i : 2 * (i - half) + 1);
}

typedef enum row_order { AS_IT_IS, HEADS } row_order;
static void copy_matrix(const fr_unrolled *c, int i, const fr_matrix *from, const fr_config *t,
                        row_order order) {
    const fr_param *item = &c->params->item[i];
    for (int r = 0; r < item->rows; r++)
        fr_matrix_row(from, order == HEADS ? source_row(t, r) : r,
                      fr_param_w(c->params, i) + (size_t)r * (size_t)item->cols);
}

fr_status fr_unrolled_take_layer(fr_unrolled *c, const fr_model *m, int layer, fr_error *err) {
    const fr_config *t = &m->config;
    const fr_layer *from = &m->layers[layer];
    const size_t d = (size_t)t->d;
    if (!fr_plan_is_plain(&t->plan[layer], t->head_dim))
        return fr_fail(err, FR_EUNSUP, "--set init: layer %d of %s is not a layer as Llama has it",
                       layer, t->arch_name);
    if (t->n_rot != t->head_dim)
        return fr_fail(err, FR_EARG, "--set init: the target turns %d of %d values of a head",
                       t->n_rot, t->head_dim);
    copy_matrix(c, c->at.q, &from->q, t, HEADS);
    copy_matrix(c, c->at.k, &from->k, t, HEADS);
    copy_matrix(c, c->at.v, &from->v, t, AS_IT_IS);
    copy_matrix(c, c->at.o, &from->o, t, AS_IT_IS);
    memcpy(fr_param_w(c->params, c->at.attn_norm), from->attn_norm.w, d * sizeof(float));
    if (c->shape.d_ff != t->d_ff) return FR_OK;
    copy_matrix(c, c->at.gate, &from->gate, t, AS_IT_IS);
    copy_matrix(c, c->at.up, &from->up, t, AS_IT_IS);
    copy_matrix(c, c->at.down, &from->down, t, AS_IT_IS);
    memcpy(fr_param_w(c->params, c->at.ffn_norm), from->ffn_norm.w, d * sizeof(float));
    return FR_OK;
}

fr_status fr_unrolled_start(fr_unrolled *c, const fr_unrolled_options *o, const fr_model *target,
                            uint64_t seed, fr_error *err) {
    start_random(c, target, seed);
    return takes_layer(o) // the neurons of a narrower one: last_layer.h
               ? fr_unrolled_take_layer(c, target, target->config.n_layer - 1, err)
               : FR_OK;
}

static void scale(const fr_params *p, int i, float by) {
    float *w = fr_param_w(p, i);
    for (int j = 0; j < p->item[i].rows * p->item[i].cols; j++)
        w[j] *= by;
}

void fr_unrolled_scale(fr_unrolled *c, float by) {
    scale(c->params, c->at.o, by);
    scale(c->params, c->at.down, by);
}

bool fr_unrolled_has_block(const fr_unrolled *c) {
    return c->params->item[c->at.o].given;
}

void fr_unrolled_quieten(fr_unrolled *c) {
    if (!fr_unrolled_has_block(c)) fr_unrolled_scale(c, 0.1f);
}

void fr_unrolled_write(const fr_unrolled *c, fr_gguf_writer *w) {
    const fr_unrolled_shape *s = &c->shape;
    fr_gguf_writer_u32(w, "forerun.n_head", (uint32_t)s->n_head);
    fr_gguf_writer_u32(w, "forerun.n_kv", (uint32_t)s->n_kv);
    fr_gguf_writer_u32(w, "forerun.head_dim", (uint32_t)s->head_dim);
    fr_gguf_writer_u32(w, "forerun.d_ff", (uint32_t)s->d_ff);
    fr_gguf_writer_f32(w, "forerun.rope_base", s->rope_base);
}
