// bind_layer.c — the tensors of one layer, by its plan.
#include "model/bind.h"
#include <stdio.h>

enum { BLOCK_NAME = 64 };

// "blk.I.SUFFIX", in `name`.
static const char *block_name(char name[BLOCK_NAME], int i, const char *suffix) {
    snprintf(name, BLOCK_NAME, "blk.%d.%s", i, suffix);
    return name;
}

// "blk.I.SUFFIX" in `name`, n values.
static const float *bind_block_vector(fr_binder *b, int i, const char *suffix, int n,
                                      bool required) {
    char name[BLOCK_NAME];
    return fr_bind_vector(b, block_name(name, i, suffix), n, required);
}

// "blk.I.SUFFIX", n rows of m values; it may be absent.
static const float *bind_block_table(fr_binder *b, int i, const char *suffix, int m, int n) {
    char name[BLOCK_NAME];
    return fr_bind_table(b, block_name(name, i, suffix), m, n, false);
}

static bool is_biased(const fr_config *c) {
    return c->family && c->family->is_biased;
}

fr_norm fr_bind_norm(fr_binder *b, const char *stem) {
    char name[BLOCK_NAME + 8];
    fr_norm norm = {0};
    snprintf(name, sizeof name, "%s.weight", stem);
    norm.w = fr_bind_vector(b, name, b->m->config.d, true);
    snprintf(name, sizeof name, "%s.bias", stem);
    if (is_biased(&b->m->config)) norm.b = fr_bind_vector(b, name, b->m->config.d, true);
    return norm;
}

static fr_norm bind_block_norm(fr_binder *b, int i, const char *suffix) {
    char stem[BLOCK_NAME];
    return fr_bind_norm(b, block_name(stem, i, suffix));
}

// Fused like the matrices, or one each: some files of fused matrices have biases of their own.
static void bind_query_biases(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const int nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim;
    const bool required = is_biased(c);
    char name[BLOCK_NAME];
    if (!fr_gguf_tensor_find(b->m->gguf, block_name(name, i, "attn_qkv.bias"))) {
        l->q_bias = bind_block_vector(b, i, "attn_q.bias", nq, required);
        l->k_bias = bind_block_vector(b, i, "attn_k.bias", nkv, required);
        l->v_bias = bind_block_vector(b, i, "attn_v.bias", nkv, required);
        return;
    }
    const float *all = fr_bind_vector(b, name, nq + 2 * nkv, true);
    l->q_bias = all;
    l->k_bias = all ? all + nq : NULL;
    l->v_bias = all ? all + nq + nkv : NULL;
}

static void bind_queries(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const int nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim, all = nq + 2 * nkv;
    char name[BLOCK_NAME];
    if (fr_gguf_tensor_find(b->m->gguf, block_name(name, i, "attn_qkv.weight"))) {
        fr_bind_rows(b, &l->q, name, 0, nq, all, c->d);
        fr_bind_rows(b, &l->k, name, nq, nkv, all, c->d);
        fr_bind_rows(b, &l->v, name, nq + nkv, nkv, all, c->d);
    } else {
        fr_bind_matrix(b, &l->q, block_name(name, i, "attn_q.weight"), nq, c->d);
        fr_bind_matrix(b, &l->k, block_name(name, i, "attn_k.weight"), nkv, c->d);
        fr_bind_matrix(b, &l->v, block_name(name, i, "attn_v.weight"), nkv, c->d);
    }
    bind_query_biases(b, l, i);
}

static void bind_attention(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const int nq = c->n_head * c->head_dim, nkv = c->n_kv * c->head_dim;
    const fr_qk_norm norm = c->plan[i].qk_norm;
    char name[BLOCK_NAME];
    bind_queries(b, l, i);
    fr_bind_matrix(b, &l->o, block_name(name, i, "attn_output.weight"), c->d, nq);
    l->o_bias = bind_block_vector(b, i, "attn_output.bias", c->d, is_biased(c));
    if (c->family && c->family->has_sinks)
        l->sinks = bind_block_vector(b, i, "attn_sinks.weight", c->n_head, true);
    if (norm == FR_QK_PLAIN || norm == FR_QK_UNIT) return;
    const bool whole = norm == FR_QK_WHOLE;
    l->q_norm = bind_block_vector(b, i, "attn_q_norm.weight", whole ? nq : c->head_dim, true);
    l->k_norm = bind_block_vector(b, i, "attn_k_norm.weight", whole ? nkv : c->head_dim, true);
}

// Gate and up stacked in one tensor.
static void bind_stacked(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    char name[BLOCK_NAME];
    block_name(name, i, "ffn_up.weight");
    fr_bind_rows(b, &l->gate, name, 0, c->d_ff, 2 * c->d_ff, c->d);
    fr_bind_rows(b, &l->up, name, c->d_ff, c->d_ff, 2 * c->d_ff, c->d);
    const float *both = bind_block_vector(b, i, "ffn_up.bias", 2 * c->d_ff, is_biased(c));
    l->gate_bias = both;
    l->up_bias = both ? both + c->d_ff : NULL;
}

static void bind_feed_forward(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const bool plain = c->plan[i].feed == FR_FEED_PLAIN;
    char name[BLOCK_NAME];
    const bool gated = fr_gguf_tensor_find(b->m->gguf, block_name(name, i, "ffn_gate.weight"));
    if (!plain && gated) {
        fr_bind_matrix(b, &l->gate, name, c->d_ff, c->d);
        l->gate_bias = bind_block_vector(b, i, "ffn_gate.bias", c->d_ff, is_biased(c));
    }
    if (plain || gated) {
        fr_bind_matrix(b, &l->up, block_name(name, i, "ffn_up.weight"), c->d_ff, c->d);
        l->up_bias = bind_block_vector(b, i, "ffn_up.bias", c->d_ff, is_biased(c));
    } else {
        bind_stacked(b, l, i);
    }
    fr_bind_matrix(b, &l->down, block_name(name, i, "ffn_down.weight"), c->d, c->d_ff);
    l->down_bias = bind_block_vector(b, i, "ffn_down.bias", c->d, is_biased(c));
}

// The expert that all rows read.
static void bind_shared_expert(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const int ff = c->experts.d_shared;
    char name[BLOCK_NAME];
    if (!ff) return;
    fr_bind_matrix(b, &l->gate, block_name(name, i, "ffn_gate_shexp.weight"), ff, c->d);
    fr_bind_matrix(b, &l->up, block_name(name, i, "ffn_up_shexp.weight"), ff, c->d);
    fr_bind_matrix(b, &l->down, block_name(name, i, "ffn_down_shexp.weight"), c->d, ff);
    block_name(name, i, "ffn_gate_inp_shexp.weight");
    if (fr_gguf_tensor_find(b->m->gguf, name)) fr_bind_row(b, &l->experts.shared_gate, name, c->d);
}

static void bind_experts(fr_binder *b, fr_layer *l, int i) {
    const fr_config *c = &b->m->config;
    const fr_experts *e = &c->experts;
    const int ff = e->d_ff;
    fr_bind_experts in = {e->n, e->used, 0, ff, ff, c->d}, out = {e->n, e->used, 0, c->d, c->d, ff};
    fr_layer_experts *to = &l->experts;
    char name[BLOCK_NAME];
    fr_bind_matrix(b, &to->router, block_name(name, i, "ffn_gate_inp.weight"), e->n, c->d);
    to->router_bias = bind_block_vector(b, i, "ffn_gate_inp.bias", e->n, false);
    to->choice_bias = bind_block_vector(b, i, "exp_probs_b.bias", e->n, false);
    if (fr_gguf_tensor_find(b->m->gguf, block_name(name, i, "ffn_gate_up_exps.weight"))) {
        in.rows_total = 2 * ff;
        fr_bind_stack(b, &to->gate, name, in);
        in.first = ff;
        fr_bind_stack(b, &to->up, name, in);
    } else {
        fr_bind_stack(b, &to->gate, block_name(name, i, "ffn_gate_exps.weight"), in);
        fr_bind_stack(b, &to->up, block_name(name, i, "ffn_up_exps.weight"), in);
    }
    fr_bind_stack(b, &to->down, block_name(name, i, "ffn_down_exps.weight"), out);
    to->gate_bias = bind_block_table(b, i, "ffn_gate_exps.bias", ff, e->n);
    to->up_bias = bind_block_table(b, i, "ffn_up_exps.bias", ff, e->n);
    to->down_bias = bind_block_table(b, i, "ffn_down_exps.bias", c->d, e->n);
    bind_shared_expert(b, l, i);
}

void fr_bind_layer(fr_binder *b, int i) {
    const fr_config *c = &b->m->config;
    const fr_norm_place place = c->plan[i].place;
    const char *ffn_norm = c->family && c->family->ffn_norm ? c->family->ffn_norm : "ffn_norm";
    fr_layer unused, *l = b->fill ? &b->m->layers[i] : &unused;
    *l = (fr_layer){0};
    if (place != FR_NORM_AFTER) l->attn_norm = bind_block_norm(b, i, "attn_norm");
    bind_attention(b, l, i);
    if (place == FR_NORM_AFTER || place == FR_NORM_AROUND) {
        l->post_attn_norm = bind_block_norm(b, i, "post_attention_norm");
        l->post_ffn_norm = bind_block_norm(b, i, "post_ffw_norm");
    }
    if (place == FR_NORM_SHARED) l->ffn_norm = l->attn_norm;
    if (place == FR_NORM_BEFORE || place == FR_NORM_AROUND)
        l->ffn_norm = bind_block_norm(b, i, ffn_norm);
    if (c->plan[i].experts)
        bind_experts(b, l, i);
    else
        bind_feed_forward(b, l, i);
}
