// tensors.c — the tensors that a pack of each kind must have.
#include "draft/pack/parts.h"
#include <stdio.h>

typedef struct checker { // what the tensors must be, one after the other
    fr_pack *p;
    size_t n; // found
    fr_status status;
    fr_error *err;
} checker;

// k values, or m rows of k.
static void expect(checker *c, const char *name, int k, int m) {
    if (c->status) return;
    const fr_gguf_tensor *t = fr_gguf_tensor_find(c->p->gguf, name);
    const int n_dims = m ? 2 : 1;
    if (!t) {
        c->status = fr_fail(c->err, FR_EDATA, "%s: expected a tensor, found none", name);
        return;
    }
    if (t->n_dims != n_dims || t->ne[0] != k || t->ne[1] != (m ? m : 1)) {
        c->status =
            fr_fail(c->err, FR_EDATA, "%s: expected [%d,%d], found %d dimensions, [%lld,%lld]",
                    name, k, m ? m : 1, t->n_dims, (long long)t->ne[0], (long long)t->ne[1]);
        return;
    }
    c->n++;
    c->p->n_params += (uint64_t)k * (uint64_t)(m ? m : 1);
    c->p->bytes += t->bytes;
}

static void expect_heads(checker *c) {
    const fr_pack *p = c->p;
    for (int k = 1; k <= p->depth; k++) {
        char name[40];
        snprintf(name, sizeof name, "medusa.%d.weight", k);
        expect(c, name, p->variant == FR_MEDUSA_HYDRA ? (k + 1) * p->d : p->d, p->d);
        snprintf(name, sizeof name, "medusa.%d.bias", k);
        expect(c, name, p->d, 0);
        snprintf(name, sizeof name, "medusa.%d.head", k);
        if (p->variant == FR_MEDUSA_OWN_HEADS) expect(c, name, p->d, p->n_draft);
    }
}

static void expect_block(checker *c) {
    const fr_pack *p = c->p;
    const int d = p->d, nq = p->n_head * p->head_dim, nkv = p->n_kv * p->head_dim;
    expect(c, "blk.0.attn_norm.weight", d, 0);
    expect(c, "blk.0.attn_q.weight", d, nq);
    expect(c, "blk.0.attn_k.weight", d, nkv);
    expect(c, "blk.0.attn_v.weight", d, nkv);
    expect(c, "blk.0.attn_output.weight", nq, d);
    expect(c, "blk.0.ffn_norm.weight", d, 0);
    expect(c, "blk.0.ffn_gate.weight", d, p->d_ff);
    expect(c, "blk.0.ffn_up.weight", d, p->d_ff);
    expect(c, "blk.0.ffn_down.weight", p->d_ff, d);
    expect(c, "output_norm.weight", d, 0);
}

static void expect_chain(checker *c) {
    const fr_pack *p = c->p;
    const int d = p->d;
    expect(c, "fc_state.weight", d, d);
    expect(c, "fc_state.norm", d, 0);
    expect(c, "fc.bias", d, 0);
    if (!p->pure) {
        expect(c, "fc_token.weight", d, d);
        expect(c, "fc_token.norm", d, 0);
    }
    if (p->kind == FR_PACK_HIDDEN_STATE && !p->pure) expect(c, "null", d, 0);
    if (p->n_taps) {
        expect(c, "fc_taps.weight", p->n_taps * d, d);
        expect(c, "fc_taps.norm", p->n_taps * d, 0);
    }
    expect_block(c);
    if (p->rank) {
        expect(c, "inject.token.weight", d, p->rank);
        expect(c, "inject.out.weight", p->rank, p->n_draft);
    }
    if (p->gate) expect(c, "inject.gate.weight", d, p->rank);
}

static void expect_chimera(checker *c) {
    static const char *const what[] = {"chain", "state"};
    const fr_pack *p = c->p;
    const int d = p->d, t = p->ngram * d;
    expect_block(c);
    expect(c, "ngram.hidden.weight", t, p->hidden);
    expect(c, "ngram.hidden.bias", p->hidden, 0);
    expect(c, "ngram.out.weight", p->hidden, d);
    if (p->encoder == FR_ENCODER_WIDE) expect(c, "ngram.skip.weight", t, d);
    for (int k = 1; k <= p->depth; k++) {
        const bool own = p->variant == FR_MEDUSA_OWN_HEADS;
        char name[40];
        for (int i = 0; i < (p->residual ? 2 : 1); i++) {
            snprintf(name, sizeof name, "chimera.%d.%s.weight", k, what[i]);
            expect(c, name, d, own ? p->n_draft : d);
        }
        snprintf(name, sizeof name, "chimera.%d.norm", k);
        if (!own) expect(c, name, d, 0);
    }
}

static void expect_maps(checker *c) {
    for (int k = 1; k <= c->p->depth; k++) {
        char name[40];
        snprintf(name, sizeof name, "transfer.%d.weight", k);
        expect(c, name, c->p->d, c->p->d);
    }
}

fr_status fr_pack_check_tensors(fr_pack *p, fr_error *err) {
    checker c = {.p = p, .err = err};
    switch (p->kind) {
    case FR_PACK_MEDUSA:
        expect_heads(&c);
        break;
    case FR_PACK_PPD:
        expect(&c, "ppd.vectors", p->d, p->depth * p->ensemble);
        break;
    case FR_PACK_HIDDEN_TRANSFER:
        expect_maps(&c);
        break;
    case FR_PACK_CHIMERA:
        expect_chimera(&c);
        break;
    case FR_PACK_LAYER_SKIP: // it has no weights
        break;
    case FR_PACK_EARLY_EXIT:
        expect(&c, "exit.norm", p->d, 0);
        expect(&c, "exit.weight", p->d, p->d);
        expect(&c, "exit.bias", p->d, 0);
        break;
    default:
        expect_chain(&c);
    }
    if (!c.status && c.n != fr_gguf_n_tensors(p->gguf))
        c.status = fr_fail(err, FR_EDATA, "a pack of this kind has %zu tensors, found %zu", c.n,
                           fr_gguf_n_tensors(p->gguf));
    return c.status;
}
