// draft_block.c — opens the block and takes its input maps, collects pairs of state and token, and
// reads those that wait in one pass. Then it runs passes over guesses, each on the state that its
// parent's row gave.
#include "draft/kit/draft_block.h"
#include <assert.h>
#include <string.h>

static const float EPS = 1e-6f;

// ---------------------------------------------------------------- open

static fr_status open_buffers(fr_draft_block *c, fr_error *err) {
    c->stride = fr_linear_stride(c->pack->d);
    c->in_stride = fr_linear_stride(c->in);
    const size_t rows = FR_ARENA_ROUND(FR_DRAFT_BLOCK_ROWS * (size_t)c->stride * sizeof(float));
    const size_t given = FR_ARENA_ROUND(FR_DRAFT_BLOCK_ROWS * (size_t)c->in_stride * sizeof(float));
    const fr_status st = fr_arena_open(&c->arena, given + 4 * rows, "draft block", err);
    if (st) return st;
    float **const buffer[] = {&c->state, &c->token, &c->x, &c->y};
    c->waiting = fr_arena_take(&c->arena, given);
    for (int i = 0; i < 4; i++)
        *buffer[i] = fr_arena_take(&c->arena, rows);
    return FR_OK;
}

static fr_status take_taps(fr_draft_block *c, fr_pack_weights *w, fr_error *err) {
    if (!c->pack->n_taps) return FR_OK;
    const fr_status st = fr_pack_weights_values(w, "fc_taps.norm", &c->taps_norm, err);
    return st ? st : fr_pack_weights_matrix(w, "fc_taps.weight", &c->of_taps, err);
}

static fr_status take_tokens(fr_draft_block *c, fr_pack_weights *w, fr_error *err) {
    if (c->pack->pure) return FR_OK;
    fr_status st = fr_pack_weights_values(w, "fc_token.norm", &c->token_norm, err);
    if (!st && c->pack->kind == FR_PACK_HIDDEN_STATE)
        st = fr_pack_weights_values(w, "null", &c->null_token, err);
    return st ? st : fr_pack_weights_matrix(w, "fc_token.weight", &c->of_token, err);
}

static fr_status take_weights(fr_draft_block *c, fr_pack_weights *w, fr_error *err) {
    fr_status st = take_taps(c, w, err);
    if (!st) st = take_tokens(c, w, err);
    if (!st) st = fr_pack_weights_values(w, "fc_state.norm", &c->state_norm, err);
    if (!st) st = fr_pack_weights_values(w, "fc.bias", &c->bias, err);
    return st ? st : fr_pack_weights_matrix(w, "fc_state.weight", &c->of_state, err);
}

fr_status fr_draft_block_open(fr_draft_block *c, fr_pack_weights *w, int n_ctx, int room,
                              fr_error *err) {
    const fr_pack *p = &w->pack;
    const fr_model *target = w->target;
    *c = (fr_draft_block){.pack = p, .target = target};
    c->in = p->n_taps ? p->n_taps * p->d : p->d;
    fr_status st;
    if ((st = open_buffers(c, err))) goto fail;
    if ((st = take_weights(c, w, err))) goto fail;
    if ((st = fr_linear_open(&c->linear, target->kern, target->pool, FR_DRAFT_BLOCK_ROWS, c->in,
                             err)))
        goto fail;
    if ((st = fr_decoder_block_open(&c->block, w, n_ctx, room, err))) goto fail;
    return FR_OK;
fail:
    fr_draft_block_close(c);
    return st;
}

void fr_draft_block_close(fr_draft_block *c) {
    fr_decoder_block_close(&c->block);
    fr_linear_close(&c->linear);
    fr_arena_close(&c->arena);
    *c = (fr_draft_block){0};
}

fr_needs fr_draft_block_needs(const fr_draft_block *c) {
    const fr_pack *p = c->pack;
    fr_needs needs = {.final = !p->n_taps, .prompt_rows = true};
    for (int t = 0; t < p->n_taps; t++)
        if (p->taps[t] == c->target->config.n_layer)
            needs.final = true;
        else
            needs.taps[needs.n_taps++] = p->taps[t];
    return needs;
}

uint64_t fr_draft_block_bytes(const fr_draft_block *c) {
    return fr_decoder_block_bytes(&c->block) + fr_matrix_bytes(c->of_state) +
           (c->of_token ? fr_matrix_bytes(c->of_token) : 0);
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

// The states of n rows that wait, in c->y; what waits becomes the input of their map.
static void join_taps(fr_draft_block *c, int n) {
    const fr_pack *p = c->pack;
    for (int i = 0; i < n; i++)
        for (int t = 0; t < p->n_taps; t++) {
            float *r = c->waiting + (size_t)i * c->in_stride + (size_t)t * p->d;
            c->target->kern->rmsnorm(r, r, c->taps_norm + (size_t)t * p->d, p->d, EPS);
        }
    fr_linear_run(&c->linear,
                  &(fr_linear_product){c->of_taps, c->waiting, c->in_stride, c->y, c->stride}, 1,
                  n);
}

// x of the n rows that were put.
static void map_rows(fr_draft_block *c, int n) {
    const fr_kern *kern = c->target->kern;
    const int d = c->pack->d, stride = c->stride;
    const fr_linear_product maps[] = {{c->of_state, c->state, stride, c->x, stride},
                                      {c->of_token, c->token, stride, c->y, stride}};
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

void fr_draft_block_copy(fr_draft_block *c, const fr_draft_block *from, int tokens) {
    const int pairs = fr_draft_block_pairs(from), most = tokens > 0 ? tokens - 1 : 0;
    const int n = pairs < most ? pairs : most, of_kv = from->block.kv.n_committed;
    const int read = n < of_kv ? n : of_kv;
    fr_kv_copy(&c->block.kv, &from->block.kv, read);
    c->n_waiting = n - read;
    memcpy(c->waiting, from->waiting,
           sizeof *c->waiting * (size_t)c->n_waiting * (size_t)c->in_stride);
    memcpy(c->waiting_token, from->waiting_token, sizeof *c->waiting_token * (size_t)c->n_waiting);
    assert(fr_draft_block_is_sound(c));
}

bool fr_draft_block_is_sound(const fr_draft_block *c) {
    if (c->n_waiting < 0 || c->n_waiting > FR_DRAFT_BLOCK_ROWS) return false;
    for (int i = 0; i < c->n_waiting; i++)
        if (c->waiting_token[i] < 0 || c->waiting_token[i] >= c->target->config.n_vocab)
            return false;
    return fr_kv_is_sound(&c->block.kv);
}

void fr_draft_block_keep(fr_draft_block *c, int pairs) {
    assert(pairs >= 0 && pairs <= fr_draft_block_pairs(c));
    const int read = c->block.kv.n_committed;
    c->n_waiting = pairs > read ? pairs - read : 0;
    if (pairs < read) fr_kv_truncate(&c->block.kv, pairs);
    assert(fr_draft_block_is_sound(c));
}

// Room for what is known of one more pair.
static float *next_pair(fr_draft_block *c, int32_t token) {
    if (c->n_waiting == FR_DRAFT_BLOCK_ROWS) fr_draft_block_read(c, 0);
    c->waiting_token[c->n_waiting] = token;
    return c->waiting + (size_t)c->n_waiting++ * c->in_stride;
}

void fr_draft_block_add(fr_draft_block *c, const float *state, int32_t token) {
    memcpy(next_pair(c, token), state, sizeof *state * (size_t)c->in);
}

int fr_draft_block_pairs(const fr_draft_block *c) {
    return c->block.kv.n_committed + c->n_waiting;
}

int fr_draft_block_keep_tokens(fr_draft_block *c, int n) {
    const int pairs = fr_draft_block_pairs(c), most = n > 0 ? n - 1 : 0;
    fr_draft_block_keep(c, pairs < most ? pairs : most);
    return fr_draft_block_pairs(c);
}

// A pass has the taps that fr_draft_block_needs lists: parts of a SPEC that tap all tap the same
// layers.
static void add_row(fr_draft_block *c, const fr_context *context, int row, int32_t token) {
    const fr_pack *p = c->pack;
    const size_t d = (size_t)p->d;
    float *to = next_pair(c, token);
    if (!p->n_taps) memcpy(to, fr_context_final(context, row), d * sizeof *to);
    for (int t = 0; t < p->n_taps; t++)
        memcpy(to + (size_t)t * d,
               p->taps[t] == c->target->config.n_layer ? fr_context_final(context, row)
                                                       : fr_context_tap(context, t, row),
               d * sizeof *to);
}

// Another part of the SPEC may have to see more of a prompt, so rows may be shown whose pairs are
// here already.
void fr_draft_block_add_path(fr_draft_block *c, const fr_context *context, const int *path, int n) {
    const int first = context->kv->n_committed - n;
    fr_draft_block_keep(c, first);
    for (int i = 0; i < n; i++)
        add_row(c, context, path ? path[i] : i, context->ids[first + i + 1]);
}

bool fr_draft_block_read(fr_draft_block *c, uint8_t wants) {
    fr_row rows[FR_DRAFT_BLOCK_ROWS];
    const int n = c->n_waiting;
    assert(fr_draft_block_is_sound(c) && c->block.kv.n_scratch == 0);
    if (!n) return false;
    if (c->pack->n_taps) join_taps(c, n);
    const float *states = c->pack->n_taps ? c->y : c->waiting; // of one stride
    for (int i = 0; i < n; i++) {
        put_row(c, i, states + (size_t)i * c->stride, c->waiting_token[i]);
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
