// decoder_block.c — opens KV, a draft head and a workspace for a pack's block, which is a model of
// one layer. Then it runs passes over rows that enter as vectors, commits or drops them, and reads
// the head.
#include "draft/kit/decoder_block.h"
#include <assert.h>

fr_status fr_decoder_block_open(fr_decoder_block *b, fr_pack_weights *w, int n_ctx, int room,
                                fr_draft_batches *batches, fr_error *err) {
    *b = (fr_decoder_block){0};
    const fr_pack *p = &w->pack;
    const fr_matrix *shared;
    fr_forward_limits limits = {
        .max_rows = FR_DECODER_BLOCK_ROWS, .max_logits = FR_DECODER_BLOCK_GUESSES, .n_ctx = n_ctx};
    fr_status st;
    if ((st = fr_pack_weights_head(w, &shared, err))) return st;
    if ((st = fr_pack_weights_block(w, &b->model, err))) return st;
    if ((st = fr_text_head_open(&b->head, shared, w->target, p->ids, p->n_draft, room, err)))
        goto fail;
    limits.head = &b->head.vocabulary;
    limits.own_outputs = b->head.text.m;
    if ((st = fr_kv_open(&b->kv, &b->model->config, n_ctx, FR_KV_F16, err))) goto fail;
    if ((st = fr_draft_batch_take(&b->batch, b->model, &limits, batches, err))) goto fail;
    return FR_OK;
fail:
    fr_decoder_block_close(b);
    return st;
}

void fr_decoder_block_close(fr_decoder_block *b) {
    fr_draft_batch_give_back(b->batch);
    fr_kv_close(&b->kv);
    fr_text_head_close(&b->head);
    *b = (fr_decoder_block){0};
}

uint64_t fr_decoder_block_bytes(const fr_decoder_block *b) {
    const size_t head = fr_matrix_bytes(&b->head.vocabulary) + fr_matrix_bytes(&b->head.text);
    return b->model->row_bytes - fr_matrix_bytes(&b->model->head) + head;
}

bool fr_decoder_block_put(fr_decoder_block *b, const fr_row *rows, int n, int first_result) {
    const fr_matrix *own = b->head.text.m ? &b->head.text : NULL;
    const int first = fr_draft_batch_put(b->batch, rows, n, &b->kv, own);
    b->first_result = first + first_result;
    b->n_rows = n;
    return first >= 0;
}

void fr_decoder_block_run(fr_decoder_block *b, const fr_row *rows, int n) {
    assert(!b->batch->n_rows);
    fr_decoder_block_put(b, rows, n, 0);
    fr_draft_batch_run(b->batch);
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
    return fr_forward_final(b->batch->forward, b->first_result + row);
}

float *fr_decoder_block_logits(fr_decoder_block *b, int row) {
    return fr_forward_logits(b->batch->forward, b->first_result + row);
}

int fr_decoder_block_slot(const fr_decoder_block *b, int row) {
    return fr_forward_slot(b->batch->forward, b->first_result + row);
}
