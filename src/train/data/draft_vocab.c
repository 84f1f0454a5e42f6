#include "train/data/draft_vocab.h"
#include "base/alloc.h"
#include "kern/repack.h"
#include <stdlib.h>
#include <string.h>

// How often each token stands in the answers of samples [first, first + n). False: interrupted.
static bool count_tokens(const fr_dataset *d, int first, int n, int n_vocab, uint64_t *count,
                         fr_progress_fn *progress, void *user) {
    for (int i = 0; i < n; i++) {
        fr_sample s;
        if (progress && !progress(user, "counting tokens", (uint64_t)i, (uint64_t)n)) return false;
        fr_dataset_sample(d, first + i, &s);
        for (int row = 0; row < s.n; row++)
            if (s.flags[row] & FR_ROW_ANSWER && s.ids[row + 1] >= 0 && s.ids[row + 1] < n_vocab)
                count[s.ids[row + 1]]++;
    }
    return true;
}

static bool always_in(const fr_tokenizer *t, int32_t id) {
    size_t bytes = 0;
    if (fr_token_is_end(t, id)) return true;
    if (fr_token_type_of(t, id) == FR_TOKEN_UNUSED || fr_token_is_control(t, id)) return false;
    fr_token_bytes(t, id, &bytes);
    return bytes == 1;
}

typedef struct ranked {
    uint64_t count;
    int32_t id;
    bool always;
} ranked;

static int by_use(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->count != y->count) return x->count > y->count ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static int by_need(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    return x->always != y->always ? (x->always ? -1 : 1) : by_use(a, b);
}

// The n tokens that are needed most, in the order of their frequency.
static fr_status choose(int32_t *ids, ranked *r, int n_vocab, int n, fr_error *err) {
    int always = 0;
    for (int i = 0; i < n_vocab; i++)
        always += r[i].always;
    if (n < always)
        return fr_fail(err, FR_EARG,
                       "--vocab %d: expected %d or more, the single bytes and ends of a text", n,
                       always);
    qsort(r, (size_t)n_vocab, sizeof *r, by_need);
    qsort(r, (size_t)n, sizeof *r, by_use);
    for (int i = 0; i < n; i++)
        ids[i] = r[i].id;
    return FR_OK;
}

static double coverage(const fr_draft_vocab *v, const uint64_t *count, int n_vocab) {
    uint64_t in = 0, all = 0;
    for (int i = 0; i < n_vocab; i++) {
        all += count[i];
        in += v->index[i] >= 0 ? count[i] : 0;
    }
    return all ? (double)in / (double)all : 0;
}

fr_status fr_draft_vocab_open(fr_draft_vocab *v, const fr_model *target,
                              const fr_tokenizer *tokenizer, const fr_dataset *data, int n,
                              fr_progress_fn *progress, void *user, fr_error *err) {
    const int n_vocab = target->config.n_vocab, wanted = n < n_vocab ? n : n_vocab;
    fr_status st;
    uint64_t *count = fr_alloc_array((size_t)n_vocab, sizeof *count);
    ranked *r = fr_alloc_array((size_t)n_vocab, sizeof *r);
    int32_t *ids = fr_alloc_array((size_t)wanted, sizeof *ids);
    *v = (fr_draft_vocab){0};
    if (!count || !r || !ids) {
        st = fr_fail(err, FR_ENOMEM, "draft vocabulary: no memory for %d tokens", n_vocab);
        goto done;
    }
    if (!count_tokens(data, data->n_held, data->n_train, n_vocab, count, progress, user)) {
        st = fr_fail(err, FR_EINTR, "interrupted");
        goto done;
    }
    for (int i = 0; i < n_vocab; i++)
        r[i] = (ranked){count[i], i, always_in(tokenizer, i)};
    if ((st = choose(ids, r, n_vocab, wanted, err))) goto done;
    st = fr_draft_vocab_of(v, target, data, ids, wanted, err);
done:
    fr_free(count);
    fr_free(r);
    fr_free(ids);
    return st;
}

// Everything that follows from ids; the memory is there.
static fr_status fill(fr_draft_vocab *v, const fr_model *target, fr_error *err) {
    const int n_vocab = target->config.n_vocab;
    for (int i = 0; i < n_vocab; i++)
        v->index[i] = -1;
    for (int i = 0; i < v->n; i++) {
        if (v->index[v->ids[i]] >= 0)
            return fr_fail(err, FR_EDATA, "draft vocabulary: token %d stands there twice",
                           v->ids[i]);
        v->index[v->ids[i]] = i;
        fr_model_head_row(target, v->ids[i], v->head + (size_t)i * (size_t)target->config.d);
    }
    return FR_OK;
}

fr_status fr_draft_vocab_of(fr_draft_vocab *v, const fr_model *target, const fr_dataset *data,
                            const int32_t *ids, int n, fr_error *err) {
    const int n_vocab = target->config.n_vocab;
    fr_status st = FR_OK;
    uint64_t *count = fr_alloc_array((size_t)n_vocab, sizeof *count);
    *v = (fr_draft_vocab){.n = n};
    v->ids = fr_alloc_array((size_t)n, sizeof *v->ids);
    v->index = fr_alloc_array((size_t)n_vocab, sizeof *v->index);
    v->head = fr_alloc_array((size_t)n, sizeof(float) * (size_t)target->config.d);
    if (!count || !v->ids || !v->index || !v->head) {
        st = fr_fail(err, FR_ENOMEM, "draft vocabulary: no memory for %d tokens", n);
    } else {
        memcpy(v->ids, ids, (size_t)n * sizeof *ids);
        st = fill(v, target, err);
    }
    if (!st) {
        count_tokens(data, 0, data->n_held, n_vocab, count, NULL, NULL);
        v->coverage = coverage(v, count, n_vocab);
    }
    fr_free(count);
    if (st) fr_draft_vocab_close(v);
    return st;
}

void fr_draft_vocab_close(fr_draft_vocab *v) {
    fr_free(v->ids);
    fr_free(v->index);
    fr_free(v->head);
    *v = (fr_draft_vocab){0};
}
