// draft_block.c — collects pairs of state and token, and has those that wait read in one pass. Then
// guesses pass, each on the state that its parent's row gave.
#include "draft/kit/draft_block.h"
#include <assert.h>
#include <string.h>

// ---------------------------------------------------------------- open

// The inputs of the batch: those that another text's block has opened, or new ones.
static fr_status take_inputs(fr_draft_block *c, fr_pack_weights *w, fr_error *err) {
    fr_draft_batch *batch = c->block.batch;
    if (!batch->inputs) {
        fr_block_inputs *in;
        const fr_status st = fr_block_inputs_open(&in, w, batch->limits.max_rows, err);
        if (st) return st;
        batch->inputs = &in->base;
    }
    c->inputs = (fr_block_inputs *)batch->inputs;
    return FR_OK;
}

fr_status fr_draft_block_open(fr_draft_block *c, fr_pack_weights *w, int n_ctx, int room,
                              fr_draft_batches *batches, fr_error *err) {
    const fr_pack *p = &w->pack;
    const fr_draft_block_pack *own = fr_draft_block_pack_of(p);
    *c = (fr_draft_block){.pack = p, .target = w->target};
    c->in = own->n_taps ? own->n_taps * p->d : p->d;
    c->in_stride = fr_linear_stride(c->in);
    const size_t waiting = FR_DRAFT_BLOCK_ROWS * (size_t)c->in_stride;
    fr_status st = fr_decoder_block_open(&c->block, w, n_ctx, room, batches, err);
    if (!st) st = take_inputs(c, w, err);
    if (!st && !(c->waiting = fr_alloc_array(waiting, sizeof *c->waiting)))
        st = fr_fail(err, FR_ENOMEM, "draft block: cannot get memory for %zu values", waiting);
    if (st) fr_draft_block_close(c);
    return st;
}

void fr_draft_block_close(fr_draft_block *c) {
    fr_decoder_block_close(&c->block);
    fr_free(c->waiting);
    *c = (fr_draft_block){0};
}

_Static_assert((int)FR_PACK_TAPS <= (int)FR_NEEDS_TAPS, "every pack's residuals can be asked for");

fr_needs fr_draft_block_needs(const fr_draft_block *c) {
    const fr_pack *p = c->pack;
    const fr_draft_block_pack *own = fr_draft_block_pack_of(p);
    fr_needs needs = {.final = !own->n_taps, .prompt_rows = true};
    for (int t = 0; t < own->n_taps; t++)
        if (own->taps[t] == c->target->config.n_layer)
            needs.final = true;
        else
            needs.taps[needs.n_taps++] = own->taps[t];
    return needs;
}

uint64_t fr_draft_block_bytes(const fr_draft_block *c) {
    return fr_decoder_block_bytes(&c->block) + fr_block_inputs_bytes(c->inputs);
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

// Memory for the data of one more pair.
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
    const fr_draft_block_pack *own = fr_draft_block_pack_of(p);
    const size_t d = (size_t)p->d;
    float *to = next_pair(c, token);
    if (!own->n_taps) memcpy(to, fr_context_final(context, row), d * sizeof *to);
    for (int t = 0; t < own->n_taps; t++)
        memcpy(to + (size_t)t * d,
               own->taps[t] == c->target->config.n_layer ? fr_context_final(context, row)
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

bool fr_draft_block_put_text(fr_draft_block *c, uint8_t wants) {
    fr_row rows[FR_DRAFT_BLOCK_ROWS] = {{0}};
    const int n = c->n_waiting, first = c->block.batch->n_rows;
    assert(n && fr_draft_block_is_sound(c) && c->block.kv.n_scratch == 0);
    for (int i = 0; i < n; i++)
        rows[i] = fr_decoder_block_row(NULL, i - 1, i == n - 1 ? wants : 0);
    if (!fr_decoder_block_put(&c->block, rows, n, n - 1)) return false;
    for (int i = 0; i < n; i++) {
        const float *state = c->waiting + (size_t)i * (size_t)c->in_stride;
        c->block.batch->rows[first + i].vec =
            fr_draft_block_pack_of(c->pack)->n_taps
                ? fr_block_inputs_put_taps(c->inputs, first + i, state, c->waiting_token[i])
                : fr_block_inputs_put(c->inputs, first + i, state, c->waiting_token[i]);
    }
    return true;
}

void fr_draft_block_took_text(fr_draft_block *c) {
    fr_decoder_block_commit(&c->block, c->n_waiting);
    c->n_waiting = 0;
}

bool fr_draft_block_read(fr_draft_block *c, uint8_t wants) {
    if (!c->n_waiting) return false;
    assert(!c->block.batch->n_rows);
    fr_draft_block_put_text(c, wants);
    fr_draft_batch_run(c->block.batch);
    fr_draft_block_took_text(c);
    return true;
}

// ---------------------------------------------------------------- guesses

bool fr_draft_block_put_guesses(fr_draft_block *c, const fr_draft_block_guess *guess, int n,
                                uint8_t wants) {
    fr_row rows[FR_DRAFT_BLOCK_GUESSES] = {{0}};
    const int first = c->block.batch->n_rows;
    assert(n >= 1 && n <= FR_DRAFT_BLOCK_GUESSES);
    for (int i = 0; i < n; i++) {
        const int parent = guess[i].parent;
        rows[i] = fr_decoder_block_row(
            NULL, parent < 0 ? FR_PARENT_COMMITTED : FR_PARENT_SLOT(parent), wants);
    }
    if (!fr_decoder_block_put(&c->block, rows, n, 0)) return false;
    for (int i = 0; i < n; i++)
        c->block.batch->rows[first + i].vec =
            fr_block_inputs_put(c->inputs, first + i, guess[i].state, guess[i].token);
    return true;
}

int fr_draft_block_slot(const fr_draft_block *c, int row) {
    return fr_decoder_block_slot(&c->block, row);
}

fr_draft_pass *fr_draft_block_pass(const fr_draft_block *c) {
    return &c->block.batch->pass;
}

const float *fr_draft_block_state(const fr_draft_block *c, int row) {
    return fr_decoder_block_state(&c->block, row);
}

float *fr_draft_block_logits(fr_draft_block *c, int row) {
    return fr_decoder_block_logits(&c->block, row);
}

void fr_draft_block_drop(fr_draft_block *c) {
    fr_decoder_block_drop(&c->block);
}
