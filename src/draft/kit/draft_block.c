// draft_block.c — opens the block with its two input maps, collects pairs of state and token, and
// reads those that wait in one pass. Then it runs passes over guesses, each on the state that its
// parent's row gave.
#include "draft/kit/draft_block.h"
#include <assert.h>
#include <string.h>

static const float EPS = 1e-6f;

// ---------------------------------------------------------------- open

static fr_status open_buffers(fr_draft_block *c, fr_error *err) {
    const size_t d = (size_t)c->pack->d;
    c->stride = (c->pack->d + 15) / 16 * 16;
    const size_t rows = FR_ARENA_ROUND(FR_DRAFT_BLOCK_ROWS * (size_t)c->stride * sizeof(float));
    const size_t vector = FR_ARENA_ROUND(d * sizeof(float));
    const fr_status st = fr_arena_open(&c->arena, 5 * rows + 4 * vector, "draft block", err);
    if (st) return st;
    float **const buffer[] = {&c->waiting, &c->state, &c->token, &c->x, &c->y};
    float **const vectors[] = {&c->state_norm, &c->token_norm, &c->bias, &c->null_token};
    for (int i = 0; i < 5; i++)
        *buffer[i] = fr_arena_take(&c->arena, rows);
    for (int i = 0; i < 4; i++)
        *vectors[i] = fr_arena_take(&c->arena, vector);
    return FR_OK;
}

static fr_status open_map(fr_draft_block *c, fr_matrix *w, const char *name, fr_error *err) {
    const fr_gguf_tensor *t = fr_pack_tensor(c->pack, name);
    return fr_matrix_open(w, t->type, t->data, c->pack->d, c->pack->d, c->target->pool, name, err);
}

static fr_status open_input(fr_draft_block *c, fr_error *err) {
    const fr_pack *p = c->pack;
    fr_status st = open_buffers(c, err);
    if (st) return st;
    fr_pack_vector(p, "fc_state.norm", c->state_norm, p->d);
    fr_pack_vector(p, "fc.bias", c->bias, p->d);
    if ((st = open_map(c, &c->of_state, "fc_state.weight", err)) || p->pure) return st;
    fr_pack_vector(p, "fc_token.norm", c->token_norm, p->d);
    if (p->kind == FR_PACK_HIDDEN_STATE) fr_pack_vector(p, "null", c->null_token, p->d);
    return open_map(c, &c->of_token, "fc_token.weight", err);
}

fr_status fr_draft_block_open(fr_draft_block *c, const fr_pack *pack, const fr_model *target,
                              int n_ctx, int room, fr_error *err) {
    *c = (fr_draft_block){.pack = pack, .target = target};
    fr_status st;
    if ((st = open_input(c, err))) goto fail;
    if ((st = fr_linear_open(&c->linear, target->kern, target->pool, FR_DRAFT_BLOCK_ROWS, pack->d,
                             err)))
        goto fail;
    if ((st = fr_decoder_block_open(&c->block, pack, target, n_ctx, room, err))) goto fail;
    return FR_OK;
fail:
    fr_draft_block_close(c);
    return st;
}

void fr_draft_block_close(fr_draft_block *c) {
    fr_decoder_block_close(&c->block);
    fr_linear_close(&c->linear);
    fr_matrix_close(&c->of_state);
    fr_matrix_close(&c->of_token);
    fr_arena_close(&c->arena);
    *c = (fr_draft_block){0};
}

uint64_t fr_draft_block_bytes(const fr_draft_block *c) {
    const fr_matrix *s = &c->of_state, *t = &c->of_token;
    return c->block.model.weights_bytes + s->panel_bytes * (size_t)s->n_panels +
           t->panel_bytes * (size_t)t->n_panels;
}

// ---------------------------------------------------------------- the input of a row

// Puts state and token of row i, normed, into the buffers of the pass.
static void put_row(fr_draft_block *c, int i, const float *state, int32_t token) {
    const fr_kern *kern = c->target->kern;
    const int d = c->pack->d;
    float *s = c->state + (size_t)i * c->stride, *t = c->token + (size_t)i * c->stride;
    kern->rmsnorm(s, state, c->state_norm, d, EPS);
    if (c->pack->pure) return;
    if (token == FR_DRAFT_BLOCK_NULL)
        memcpy(t, c->null_token, sizeof *t * (size_t)d);
    else
        fr_model_embed(c->target, token, t);
    kern->rmsnorm(t, t, c->token_norm, d, EPS);
}

// x of the n rows that were put.
static void map_rows(fr_draft_block *c, int n) {
    const fr_kern *kern = c->target->kern;
    const int d = c->pack->d, stride = c->stride;
    const fr_linear_product maps[] = {{&c->of_state, c->state, stride, c->x, stride},
                                      {&c->of_token, c->token, stride, c->y, stride}};
    fr_linear_run(&c->linear, maps, c->pack->pure ? 1 : 2, n);
    for (int i = 0; i < n; i++) {
        float *x = c->x + (size_t)i * stride;
        if (!c->pack->pure) kern->add(x, c->y + (size_t)i * stride, d);
        kern->add(x, c->bias, d);
    }
}

static fr_row row_of(const fr_draft_block *c, int i, int parent, uint8_t wants) {
    return fr_decoder_block_row(c->x + (size_t)i * c->stride, parent, wants);
}

// ---------------------------------------------------------------- pairs of the text

void fr_draft_block_begin(fr_draft_block *c) {
    fr_draft_block_keep(c, 0);
}

void fr_draft_block_copy(fr_draft_block *c, const fr_draft_block *from, int tokens) {
    const int pairs = fr_draft_block_pairs(from), most = tokens > 0 ? tokens - 1 : 0;
    const int n = pairs < most ? pairs : most, of_kv = from->block.kv.n_committed;
    const int read = n < of_kv ? n : of_kv;
    fr_kv_copy(&c->block.kv, &from->block.kv, read);
    c->n_waiting = n - read;
    memcpy(c->waiting, from->waiting,
           sizeof *c->waiting * (size_t)c->n_waiting * (size_t)c->stride);
    memcpy(c->waiting_token, from->waiting_token, sizeof *c->waiting_token * (size_t)c->n_waiting);
}

void fr_draft_block_keep(fr_draft_block *c, int pairs) {
    assert(pairs >= 0 && pairs <= fr_draft_block_pairs(c));
    const int read = c->block.kv.n_committed;
    c->n_waiting = pairs > read ? pairs - read : 0;
    if (pairs < read) fr_kv_truncate(&c->block.kv, pairs);
}

void fr_draft_block_add(fr_draft_block *c, const float *state, int32_t token) {
    if (c->n_waiting == FR_DRAFT_BLOCK_ROWS) fr_draft_block_read(c, 0);
    memcpy(c->waiting + (size_t)c->n_waiting * c->stride, state,
           sizeof *state * (size_t)c->pack->d);
    c->waiting_token[c->n_waiting++] = token;
}

int fr_draft_block_pairs(const fr_draft_block *c) {
    return c->block.kv.n_committed + c->n_waiting;
}

int fr_draft_block_keep_tokens(fr_draft_block *c, int n) {
    const int pairs = fr_draft_block_pairs(c), most = n > 0 ? n - 1 : 0;
    fr_draft_block_keep(c, pairs < most ? pairs : most);
    return fr_draft_block_pairs(c);
}

// Another part of the SPEC may have to see more of a prompt, so rows may be shown whose pairs are
// here already.
void fr_draft_block_add_path(fr_draft_block *c, const fr_context *context, const int *path, int n) {
    const int first = context->kv->n_committed - n;
    fr_draft_block_keep(c, first);
    for (int i = 0; i < n; i++)
        fr_draft_block_add(c, fr_forward_final(context->forward, path ? path[i] : i),
                           context->ids[first + i + 1]);
}

bool fr_draft_block_read(fr_draft_block *c, uint8_t wants) {
    fr_row rows[FR_DRAFT_BLOCK_ROWS];
    const int n = c->n_waiting;
    assert(c->block.kv.n_scratch == 0);
    if (!n) return false;
    for (int i = 0; i < n; i++) {
        put_row(c, i, c->waiting + (size_t)i * c->stride, c->waiting_token[i]);
        rows[i] = row_of(c, i, i - 1, i == n - 1 ? wants : 0);
    }
    map_rows(c, n);
    fr_decoder_block_run(&c->block, rows, n, n - 1);
    fr_decoder_block_commit(&c->block, n);
    c->n_waiting = 0;
    return true;
}

// ---------------------------------------------------------------- guesses

void fr_draft_block_guess_pass(fr_draft_block *c, const fr_draft_block_guess *guess, int n,
                               uint8_t wants, int *slot) {
    fr_row rows[FR_DRAFT_BLOCK_GUESSES];
    assert(n >= 1 && n <= FR_DRAFT_BLOCK_GUESSES);
    for (int i = 0; i < n; i++) {
        const int parent = guess[i].parent;
        put_row(c, i, guess[i].state, guess[i].token);
        rows[i] = row_of(c, i, parent < 0 ? FR_PARENT_COMMITTED : FR_PARENT_SLOT(parent), wants);
    }
    map_rows(c, n);
    fr_decoder_block_run(&c->block, rows, n, 0);
    for (int i = 0; i < n; i++)
        slot[i] = fr_decoder_block_slot(&c->block, i);
}

const float *fr_draft_block_state(const fr_draft_block *c, int row) {
    return fr_decoder_block_state(&c->block, row);
}

float *fr_draft_block_logits(fr_draft_block *c, int row) {
    return fr_decoder_block_logits(&c->block, row);
}

void fr_draft_block_head(fr_draft_block *c, const float *states, int n, float *logits) {
    fr_decoder_block_head(&c->block, states, n, logits);
}

void fr_draft_block_drop(fr_draft_block *c) {
    fr_decoder_block_drop(&c->block);
}
