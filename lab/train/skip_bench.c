#include "lab/train/skip_bench.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "draft/kit/likeliest.h"
#include "draft/self/skip_set.h"
#include "draft/shared/draft_head.h"
#include "model/finite.h"
#include "train/learner/pack_write.h"
#include "train/learner/tally.h"
#include <math.h>
#include <string.h>

enum { PASS_PLACES = 8, PASS_ROWS = PASS_PLACES * FR_DEPTHS, LONGEST = 384, SHORTEST = 16 };

// ---------------------------------------------------------------- places

// Whether the tokens after row `at` and the FR_DEPTHS - 1 rows after it are all of an answer.
static bool is_place(const fr_sample *s, int at) {
    if (at < SHORTEST || at + FR_DEPTHS > s->n || at > LONGEST) return false;
    for (int k = 0; k < FR_DEPTHS; k++)
        if (!(s->flags[at + k] & FR_ROW_ANSWER)) return false;
    return true;
}

// The row of the round-th place of a sample: in the middle of the rows that can be one, then a
// quarter and three quarters through, and so on; -1: there are not so many.
static int row_of_place(const fr_sample *s, int round) {
    static const double through[] = {0.5, 0.25, 0.75, 0.125, 0.625, 0.375, 0.875};
    int n = 0, last = -1;
    if (round >= (int)(sizeof through / sizeof *through)) return -1;
    for (int at = 0; at < s->n; at++)
        n += is_place(s, at);
    if (n < (round + 1) * FR_DEPTHS && round) return -1;
    int wanted = (int)(through[round] * n);
    for (int at = 0; at < s->n && wanted >= 0; at++)
        if (is_place(s, at)) {
            last = at;
            wanted--;
        }
    return last;
}

static void read_text(fr_skip_bench *b, fr_skip_place *p, const int32_t *ids, int n) {
    fr_row rows[PASS_ROWS];
    int path[PASS_ROWS];
    while (p->kv.n_committed < n) {
        const int at = p->kv.n_committed, m = n - at < PASS_ROWS ? n - at : PASS_ROWS;
        for (int i = 0; i < m; i++) {
            rows[i] = fr_row_token(ids[at + i], i - 1, 0);
            path[i] = i;
        }
        fr_forward_run(
            b->forward,
            &(fr_pass){.rows = rows, .n_rows = m, .kv = (fr_kv *[]){&p->kv}, .n_seq = 1});
        fr_kv_commit(&p->kv, path, m);
    }
}

static void keep_dist(const fr_skip_bench *b, const float *logits, fr_skip_row *row) {
    fr_likely likely[FR_SHARD_TOP];
    double sum = 0;
    const int n = fr_likeliest(logits, b->target->config.n_vocab, FR_SHARD_TOP, likely);
    *row = (fr_skip_row){.first = n ? likely[0].index : -1};
    for (int i = 0; i < n; i++) {
        const int32_t at = b->vocab->index[likely[i].index];
        if (at < 0) continue;
        row->index[row->n] = at;
        sum += (double)(row->p[row->n++] = likely[i].p);
    }
    for (int i = 0; i < row->n; i++)
        row->p[i] = (float)((double)row->p[i] / sum);
}

static int chain_rows(const fr_skip_place *p, int seq, uint8_t wants, fr_row *rows, int n) {
    for (int k = 0; k < FR_DEPTHS; k++) {
        rows[n + k] = fr_row_token(p->ids[k], k ? n + k - 1 : FR_PARENT_COMMITTED, wants);
        rows[n + k].seq = seq;
    }
    return n + FR_DEPTHS;
}

static fr_status open_place(fr_skip_bench *b, const fr_sample *s, int at, fr_error *err) {
    fr_skip_place *p = &b->place[b->n];
    fr_row rows[FR_DEPTHS];
    const fr_status st = fr_kv_open(&p->kv, &b->target->config, at, FR_KV_F16, err);
    if (st) return st;
    b->n++;
    fr_kv_stretch(&p->kv, fr_model_stretches(b->target, at));
    read_text(b, p, s->ids, at);
    memcpy(p->ids, s->ids + at, sizeof p->ids);
    chain_rows(p, 0, FR_WANT_LOGITS, rows, 0);
    fr_forward_run(
        b->forward,
        &(fr_pass){.rows = rows, .n_rows = FR_DEPTHS, .kv = (fr_kv *[]){&p->kv}, .n_seq = 1});
    fr_kv_drop_scratch(&p->kv);
    for (int k = 0; k < FR_DEPTHS; k++) {
        const float *logits = fr_forward_logits(b->forward, k);
        const int n_vocab = b->target->config.n_vocab;
        if (!fr_are_logits(logits, n_vocab))
            return fr_logits_refuse(logits, n_vocab, at + k + 1, err);
        keep_dist(b, logits, &p->row[k]);
    }
    return FR_OK;
}

static fr_status open_places(fr_skip_bench *b, const fr_dataset *data, int first, int n, int most,
                             fr_progress_fn *progress, void *user, fr_error *err) {
    fr_status st = FR_OK;
    int before = -1;
    for (int round = 0; b->n < most && b->n > before && !st; round++) {
        before = round ? b->n : -1;
        for (int i = first; i < first + n && b->n < most && !st; i++) {
            fr_sample s;
            fr_dataset_sample(data, i, &s);
            const int at = row_of_place(&s, round);
            if (progress && !progress(user, "reading places", (uint64_t)b->n, (uint64_t)most))
                st = fr_fail(err, FR_EINTR, "interrupted");
            else if (at >= 0)
                st = open_place(b, &s, at, err);
        }
    }
    if (!st && !b->n)
        st = fr_fail(err, FR_EDATA,
                     "data: expected %d tokens of an answer between the tokens %d and %d of a "
                     "text, found none",
                     FR_DEPTHS + 1, SHORTEST, LONGEST + FR_DEPTHS);
    return st;
}

// ---------------------------------------------------------------- open

static fr_status open_buffers(fr_skip_bench *b, fr_error *err) {
    const fr_forward_limits limits = {
        .max_rows = PASS_ROWS, .max_logits = FR_DEPTHS, .n_ctx = LONGEST};
    b->stride = fr_linear_stride(b->target->config.d);
    b->logit_stride = fr_linear_stride(b->vocab->n);
    const size_t row = PASS_ROWS * sizeof(float);
    const size_t in = FR_ARENA_ROUND(row * (size_t)b->stride);
    const size_t logits = FR_ARENA_ROUND(row * (size_t)b->logit_stride);
    fr_status st = fr_arena_open(&b->arena, in + logits, "search", err);
    if (st) return st;
    b->in = fr_arena_take(&b->arena, in);
    b->logits = fr_arena_take(&b->arena, logits);
    if ((st = fr_forward_open(&b->forward, b->target, &limits, err))) return st;
    if ((st = fr_draft_head_open(&b->head, b->target, b->vocab->ids, b->vocab->n, err))) return st;
    return fr_linear_open(&b->linear, b->target->kern, b->target->pool, PASS_ROWS, b->stride, err);
}

fr_status fr_skip_bench_open(fr_skip_bench *b, const fr_model *target, const fr_draft_vocab *vocab,
                             const fr_dataset *data, int first, int n, int most,
                             fr_progress_fn *progress, void *user, fr_error *err) {
    *b = (fr_skip_bench){.target = target, .vocab = vocab};
    fr_status st = FR_OK;
    b->place = fr_alloc_zero((size_t)most * sizeof *b->place);
    if (!b->place) st = fr_fail(err, FR_ENOMEM, "search: no memory for %d places", most);
    if (!st) st = open_buffers(b, err);
    if (!st) st = open_places(b, data, first, n, most, progress, user, err);
    if (st) fr_skip_bench_close(b);
    return st;
}

void fr_skip_bench_close(fr_skip_bench *b) {
    for (int i = 0; i < b->n; i++)
        fr_kv_close(&b->place[i].kv);
    fr_free(b->place);
    fr_matrix_close(&b->head);
    fr_linear_close(&b->linear);
    fr_forward_close(b->forward);
    fr_arena_close(&b->arena);
    *b = (fr_skip_bench){0};
}

// ---------------------------------------------------------------- judging

// Draft logits of the last pass's n rows.
static void read_head(fr_skip_bench *b, int n) {
    for (int i = 0; i < n; i++)
        memcpy(b->in + (size_t)i * (size_t)b->stride, fr_forward_final(b->forward, i),
               sizeof(float) * (size_t)b->target->config.d);
    const fr_linear_product head = {&b->head, b->in, b->stride, b->logits, b->logit_stride};
    fr_linear_run(&b->linear, &head, 1, n);
}

// Draft logits of n places from `first` on, FR_DEPTHS rows each.
static void run_places(fr_skip_bench *b, const uint8_t *skip, int first, int n) {
    fr_row rows[PASS_ROWS];
    fr_kv *kv[PASS_PLACES];
    int m = 0;
    for (int i = 0; i < n; i++) {
        m = chain_rows(&b->place[first + i], i, FR_WANT_FINAL, rows, m);
        kv[i] = &b->place[first + i].kv;
    }
    fr_forward_run(b->forward,
                   &(fr_pass){.rows = rows, .n_rows = m, .kv = kv, .n_seq = n, .skip = skip});
    for (int i = 0; i < n; i++)
        fr_kv_drop_scratch(kv[i]);
    read_head(b, m);
}

static fr_loss_got judge_row(const fr_skip_bench *b, const float *logits, const fr_skip_row *row) {
    fr_loss_got got = {.rank = -1};
    const int32_t first = row->first < 0 ? -1 : b->vocab->index[row->first];
    double sum = 0;
    float most = -INFINITY;
    for (int v = 0; v < b->vocab->n; v++)
        most = logits[v] > most ? logits[v] : most;
    for (int v = 0; v < b->vocab->n; v++)
        sum += exp((double)(logits[v] - most));
    const double whole = (double)most + log(sum);
    double nats = 0;
    for (int i = 0; i < row->n; i++)
        if (row->p[i] > 0)
            nats += (double)row->p[i] *
                    (log((double)row->p[i]) - ((double)logits[row->index[i]] - whole));
    got.nats = row->n ? (float)nats : NAN;
    if (first < 0) return got;
    got.rank = 0;
    for (int v = 0; v < b->vocab->n && got.rank < FR_RANKS; v++)
        got.rank += logits[v] > logits[first] || (logits[v] == logits[first] && v < first);
    return got;
}

bool fr_skip_bench_judge(fr_skip_bench *b, const uint8_t *skip, fr_tally *tally) {
    *tally = (fr_tally){0};
    for (int first = 0; first < b->n; first += PASS_PLACES) {
        if (!fr_go_on(b->watch)) return false;
        const int n = b->n - first < PASS_PLACES ? b->n - first : PASS_PLACES;
        run_places(b, skip, first, n);
        for (int i = 0; i < n; i++) {
            bool alive = true;
            for (int k = 0; k < FR_DEPTHS; k++) {
                const size_t at = (size_t)(i * FR_DEPTHS + k) * (size_t)b->logit_stride;
                const fr_loss_got got = judge_row(b, b->logits + at, &b->place[first + i].row[k]);
                fr_tally_count(tally, k, 1, &got, &alive);
            }
        }
    }
    return true;
}

// ---------------------------------------------------------------- what it takes

static double seconds_of(fr_skip_bench *b, const uint8_t *skip) {
    fr_kv *kv = &b->place[0].kv;
    const fr_row row = fr_row_token(b->place[0].ids[0], FR_PARENT_COMMITTED,
                                    skip ? FR_WANT_FINAL : FR_WANT_LOGITS);
    const double start = fr_seconds();
    fr_forward_run(
        b->forward,
        &(fr_pass){.rows = &row, .n_rows = 1, .kv = (fr_kv *[]){kv}, .n_seq = 1, .skip = skip});
    fr_kv_drop_scratch(kv);
    if (skip) read_head(b, 1);
    return fr_seconds() - start;
}

double fr_skip_bench_share(fr_skip_bench *b, const uint8_t *skip) {
    enum { TURNS = 9 };
    double plain = INFINITY, draft = INFINITY;
    for (int i = 0; i < TURNS; i++) {
        plain = fmin(plain, seconds_of(b, NULL));
        draft = fmin(draft, seconds_of(b, skip));
    }
    return draft / plain;
}

double fr_skip_bench_bytes_share(const fr_skip_bench *b, const uint8_t *skip) {
    return fr_skip_trunk_share(b->target, skip) +
           (double)fr_matrix_bytes(&b->head) / (double)b->target->weights_bytes;
}

double fr_skip_speed(const fr_tally *tally, double share) {
    double tokens = 1, path = 1, best = 0;
    for (int k = 0; k < FR_DEPTHS && tally->reached[k] > 0; k++) {
        path *= tally->followed[k] / tally->reached[k];
        tokens += path;
        best = fmax(best, tokens / (1 + (k + 1) * share));
    }
    return best;
}

// ---------------------------------------------------------------- the pack

typedef struct found { // what a pack is written of is a learner
    fr_learner learner;
    const uint8_t *skip;
    double share;
} found;

static void write_found(const fr_learner *l, fr_gguf_writer *w, fr_type type) {
    const found *f = (const found *)l;
    int32_t list[2 * FR_MAX_LAYERS];
    size_t n = 0;
    (void)type;
    for (int i = 0; i < 2 * l->target->config.n_layer; i++)
        if (f->skip[i]) list[n++] = i;
    fr_gguf_writer_u32(w, "forerun.heads", FR_DEPTHS);
    fr_gguf_writer_i32_array(w, "forerun.skip", list, n);
    fr_gguf_writer_f32(w, "forerun.share", (float)f->share);
}

fr_status fr_skip_pack_write(const char *path, const fr_model *target, const fr_draft_vocab *vocab,
                             const uint8_t *skip, double share, const fr_pack_facts *facts,
                             fr_error *err) {
    static const fr_learner_ops ops = {.write = write_found};
    const found f = {.learner = {.ops = &ops,
                                 .name = "layer-skip",
                                 .target = target,
                                 .vocab = vocab,
                                 .depth = FR_DEPTHS},
                     .skip = skip,
                     .share = share};
    return fr_pack_write(path, &f.learner, facts, FR_TYPE_Q8_0, err);
}
