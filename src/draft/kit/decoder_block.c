// decoder_block.c — opens a pack's block as a model of one layer with KV and a draft head. Then it
// runs passes over rows that enter as vectors, commits or drops them, and reads the head.
#include "draft/kit/decoder_block.h"
#include <assert.h>
#include <math.h>

static fr_config config_of(const fr_pack *p, const fr_model *target, int room) {
    return (fr_config){.arch = FR_ARCH_LLAMA,
                       .arch_name = "block",
                       .n_layer = 1,
                       .d = p->d,
                       .d_ff = p->d_ff,
                       .n_head = p->n_head,
                       .n_kv = p->n_kv,
                       .head_dim = p->head_dim,
                       .n_vocab = p->n_draft + room,
                       .n_ctx_train = target->config.n_ctx_train,
                       .eps = 1e-6f,
                       .embed_scale = 1,
                       .attn_scale = (float)(1 / sqrt((double)p->head_dim)),
                       .n_rot = p->head_dim,
                       .neox = true,
                       .rope_base = p->rope_base,
                       .rope_base_local = p->rope_base,
                       .rope_factor = 1};
}

fr_status fr_decoder_block_open(fr_decoder_block *b, const fr_pack *pack, const fr_model *target,
                                int n_ctx, int room, fr_error *err) {
    *b = (fr_decoder_block){0};
    const fr_config config = config_of(pack, target, room);
    const fr_forward_limits limits = {
        .max_rows = FR_DECODER_BLOCK_ROWS, .max_logits = FR_DECODER_BLOCK_GUESSES, .n_ctx = n_ctx};
    fr_status st;
    if ((st = fr_text_head_open(&b->head, target, pack->ids, pack->n_draft, room, err))) goto fail;
    if ((st = fr_model_open_block(&b->model, pack->gguf, &config, &b->head.w, target->kern,
                                  target->pool, err)))
        goto fail;
    if ((st = fr_kv_open(&b->kv, &config, n_ctx, FR_KV_F16, err))) goto fail;
    if ((st = fr_forward_open(&b->forward, &b->model, &limits, err))) goto fail;
    return FR_OK;
fail:
    fr_decoder_block_close(b);
    return st;
}

void fr_decoder_block_close(fr_decoder_block *b) {
    fr_forward_close(b->forward);
    fr_kv_close(&b->kv);
    fr_model_close(&b->model);
    fr_text_head_close(&b->head);
    *b = (fr_decoder_block){0};
}

void fr_decoder_block_run(fr_decoder_block *b, const fr_row *rows, int n, int first_result) {
    b->first_result = first_result;
    fr_forward_run(b->forward,
                   &(fr_pass){.rows = rows, .n_rows = n, .kv = (fr_kv *[]){&b->kv}, .n_seq = 1});
}

void fr_decoder_block_commit(fr_decoder_block *b, int n) {
    int path[FR_DECODER_BLOCK_ROWS];
    assert(n >= 0 && n <= FR_DECODER_BLOCK_ROWS);
    for (int i = 0; i < n; i++)
        path[i] = i;
    fr_kv_commit(&b->kv, path, n);
}

void fr_decoder_block_drop(fr_decoder_block *b) {
    fr_kv_drop_scratch(&b->kv);
}

const float *fr_decoder_block_state(const fr_decoder_block *b, int row) {
    return fr_forward_final(b->forward, b->first_result + row);
}

float *fr_decoder_block_logits(fr_decoder_block *b, int row) {
    return fr_forward_logits(b->forward, b->first_result + row);
}

int fr_decoder_block_slot(const fr_decoder_block *b, int row) {
    return fr_forward_slot(b->forward, b->first_result + row);
}

void fr_decoder_block_head(fr_decoder_block *b, const float *states, int n, float *logits) {
    assert(n >= 1 && n <= FR_DECODER_BLOCK_GUESSES);
    fr_forward_head(b->forward, states, n, logits);
}
