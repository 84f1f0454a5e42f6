// draft_batch.c — finds or opens the batch of a network. Texts add their rows one after the
// other. The pass takes all of them and leaves the batch empty; its results are valid until the
// next pass.
#include "draft/kit/draft_batch.h"
#include "base/alloc.h"
#include <assert.h>
#include <string.h>

// Of a batch that many share; more rows wait for the next pass.
enum { SHARED_ROWS = 128, SHARED_LOGITS = 64 };

static int outputs_of(const fr_draft_batch *b) {
    return b->limits.head ? b->limits.head->m : b->model->head.m;
}

static void run(fr_draft_pass *pass) {
    fr_draft_batch *b = (fr_draft_batch *)pass;
    assert(b->n_rows);
    if (b->inputs) b->inputs->prepare(b->inputs, b->n_rows);
    fr_forward_run(b->forward, &(fr_pass){.rows = b->rows,
                                          .n_rows = b->n_rows,
                                          .kv = b->kv,
                                          .n_seq = b->n_texts,
                                          .own_head = b->own_head});
    b->n_rows = b->n_logits = b->n_texts = 0;
}

// One text's states are read where they lie; those of several are laid end to end.
static void run_head(fr_draft_pass *pass) {
    fr_draft_batch *b = (fr_draft_batch *)((char *)pass - offsetof(fr_draft_batch, head_pass));
    const size_t d = (size_t)b->model->config.d, outputs = (size_t)outputs_of(b);
    const fr_draft_head_part *end = b->part + b->n_parts;
    float *state = b->states, *logits = b->logits;
    assert(b->n_parts);
    for (const fr_draft_head_part *p = b->part; p < end; state += d * (size_t)p++->n)
        if (b->n_parts > 1) memcpy(state, p->states, sizeof *state * d * (size_t)p->n);
    if (b->n_parts == 1)
        fr_forward_head(b->forward, b->part->states, b->n_states, b->part->logits);
    else
        fr_forward_head(b->forward, b->states, b->n_states, b->logits);
    for (const fr_draft_head_part *p = b->part; p < end; logits += outputs * (size_t)p++->n)
        if (b->n_parts > 1) memcpy(p->logits, logits, sizeof *logits * outputs * (size_t)p->n);
    b->n_parts = b->n_states = 0;
}

// ---------------------------------------------------------------- open and close

// Heads are the same where their panels are: two vocabularies of one pack may end at other rows.
static bool same_network(const fr_draft_batch *b, const fr_model *model,
                         const fr_forward_limits *l) {
    const fr_matrix *a = b->limits.head, *c = l->head;
    const bool same_head = a && c ? a->panels == c->panels && a->m == c->m : a == c;
    return b->model == model && same_head && b->limits.own_outputs == l->own_outputs;
}

static fr_status open_batch(fr_draft_batch **out, const fr_model *model,
                            const fr_forward_limits *limits, fr_draft_batches *batches,
                            fr_error *err) {
    fr_draft_batch *b = fr_alloc_zero(sizeof *b);
    if (!b) return fr_fail(err, FR_ENOMEM, "drafter: cannot get %zu bytes", sizeof *b);
    *b = (fr_draft_batch){
        .pass = {run}, .head_pass = {run_head}, .model = model, .limits = *limits, .users = 1};
    if (limits->head) {
        b->vocabulary = *limits->head;
        b->limits.head = &b->vocabulary;
    }
    if (batches) {
        if (b->limits.max_rows < SHARED_ROWS) b->limits.max_rows = SHARED_ROWS;
        if (b->limits.max_logits < SHARED_LOGITS) b->limits.max_logits = SHARED_LOGITS;
        if (b->limits.n_ctx < batches->n_ctx) b->limits.n_ctx = batches->n_ctx;
    }
    const fr_status st = fr_forward_open(&b->forward, model, &b->limits, err);
    if (st) {
        fr_free(b);
        return st;
    }
    *out = b;
    return FR_OK;
}

fr_status fr_draft_batch_take(fr_draft_batch **out, const fr_model *model,
                              const fr_forward_limits *limits, fr_draft_batches *batches,
                              fr_error *err) {
    *out = NULL;
    for (fr_draft_batch *b = batches ? batches->first : NULL; b; b = b->next)
        if (same_network(b, model, limits)) {
            b->users++;
            *out = b;
            return FR_OK;
        }
    const fr_status st = open_batch(out, model, limits, batches, err);
    if (st || !batches) return st;
    (*out)->owner = batches;
    (*out)->next = batches->first;
    batches->first = *out;
    return FR_OK;
}

void fr_draft_batch_give_back(fr_draft_batch *b) {
    if (!b || --b->users) return;
    if (b->owner) {
        fr_draft_batch **at = &b->owner->first;
        while (*at != b)
            at = &(*at)->next;
        *at = b->next;
    }
    if (b->inputs) b->inputs->close(b->inputs);
    fr_forward_close(b->forward);
    fr_free(b->states);
    fr_free(b->logits);
    fr_free(b);
}

// ---------------------------------------------------------------- rows

int fr_draft_batch_put(fr_draft_batch *b, const fr_row *rows, int n, fr_kv *kv,
                       const fr_matrix *own_head) {
    const int first = b->n_rows, seq = b->n_texts;
    int logits = 0;
    for (int i = 0; i < n; i++)
        logits += (rows[i].wants & FR_WANT_LOGITS) != 0;
    assert(n >= 1 && n <= b->limits.max_rows && logits <= b->limits.max_logits);
    if (first + n > b->limits.max_rows || b->n_logits + logits > b->limits.max_logits ||
        seq == FR_DRAFT_BATCH_TEXTS)
        return -1;
    for (int i = 0; i < n; i++) {
        fr_row *row = &b->rows[first + i];
        *row = rows[i];
        row->seq = seq;
        if (row->parent >= 0) row->parent += first;
    }
    b->kv[seq] = kv;
    b->own_head[seq] = own_head;
    b->n_rows += n;
    b->n_logits += logits;
    b->n_texts++;
    return first;
}

// ---------------------------------------------------------------- the head alone

fr_status fr_draft_batch_open_head(fr_draft_batch *b, fr_error *err) {
    const size_t n = (size_t)b->limits.max_logits, d = (size_t)b->model->config.d;
    if (b->states || !b->owner) return FR_OK; // one text's need no room
    b->states = fr_alloc_array(n * d, sizeof *b->states);
    b->logits = fr_alloc_array(n * (size_t)outputs_of(b), sizeof *b->logits);
    if (b->states && b->logits) return FR_OK;
    fr_free(b->states);
    fr_free(b->logits);
    b->states = b->logits = NULL;
    return fr_fail(err, FR_ENOMEM, "drafter: cannot get memory for the logits of %zu states", n);
}

bool fr_draft_batch_put_states(fr_draft_batch *b, const float *states, int n, float *logits) {
    assert(n >= 1 && n <= b->limits.max_logits);
    if (b->n_states + n > b->limits.max_logits || b->n_parts == FR_DRAFT_BATCH_TEXTS) return false;
    b->part[b->n_parts++] = (fr_draft_head_part){states, n, logits};
    b->n_states += n;
    return true;
}
