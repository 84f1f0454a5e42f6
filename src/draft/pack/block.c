#include "draft/pack/block.h"

enum { LARGEST = 1 << 20 };

fr_status fr_pack_block_read(fr_pack_block *b, const fr_pack *p, fr_error *err) {
    fr_status st;
    b->rope_base = 10000;
    if ((st = fr_pack_u32(p, "forerun.n_head", 1, 4096, &b->n_head, err)) ||
        (st = fr_pack_u32(p, "forerun.n_kv", 1, 4096, &b->n_kv, err)) ||
        (st = fr_pack_u32(p, "forerun.head_dim", 2, 1024, &b->head_dim, err)) ||
        (st = fr_pack_u32(p, "forerun.d_ff", 1, LARGEST, &b->d_ff, err)) ||
        (st = fr_gguf_opt_f32(p->gguf, "forerun.rope_base", &b->rope_base, err)))
        return st;
    if (b->n_head % b->n_kv || b->head_dim % 2)
        return fr_fail(err, FR_EDATA,
                       "forerun.n_head: %d heads of %d values on %d of keys make no block",
                       b->n_head, b->head_dim, b->n_kv);
    if (!(b->rope_base >= 1))
        return fr_fail(err, FR_EDATA, "forerun.rope_base: expected 1 or more, found %g",
                       (double)b->rope_base);
    return FR_OK;
}

void fr_pack_block_tensors(const fr_pack_block *b, const fr_pack *p, fr_pack_tensors *list) {
    const int d = p->d, nq = b->n_head * b->head_dim, nkv = b->n_kv * b->head_dim;
    fr_pack_expect(list, "blk.0.attn_norm.weight", d, 0);
    fr_pack_expect(list, "blk.0.attn_q.weight", d, nq);
    fr_pack_expect(list, "blk.0.attn_k.weight", d, nkv);
    fr_pack_expect(list, "blk.0.attn_v.weight", d, nkv);
    fr_pack_expect(list, "blk.0.attn_output.weight", nq, d);
    fr_pack_expect(list, "blk.0.ffn_norm.weight", d, 0);
    fr_pack_expect(list, "blk.0.ffn_gate.weight", d, b->d_ff);
    fr_pack_expect(list, "blk.0.ffn_up.weight", d, b->d_ff);
    fr_pack_expect(list, "blk.0.ffn_down.weight", b->d_ff, d);
    fr_pack_expect(list, "output_norm.weight", d, 0);
}

double fr_pack_block_share(const fr_pack_block *b, const fr_pack *p, const fr_pack_target *t) {
    const double heads = b->n_head + b->n_kv, attention = 2.0 * heads * b->head_dim * p->d;
    return 34.0 / 32 * (attention + 3.0 * b->d_ff * p->d) / (double)t->weights;
}

json_t *fr_pack_block_members(const fr_pack_block *b) {
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:b, s:b, s:[]}", "n_head", b->n_head, "n_kv",
                     b->n_kv, "head_dim", b->head_dim, "d_ff", b->d_ff, "rank", 0, "gate", 0,
                     "pure", 0, "taps");
}

void fr_pack_block_words(const fr_pack_block *b, FILE *to) {
    fprintf(to, ", a block with %d heads, %d key heads, feed-forward width %d", b->n_head, b->n_kv,
            b->d_ff);
}
