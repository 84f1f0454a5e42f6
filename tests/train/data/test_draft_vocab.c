// The draft vocabulary: what answers use most, what is always in, the rows of the head.
#define _GNU_SOURCE
#include "kern/repack.h"
#include "support/near.h"
#include "support/open_model.h"
#include "train/data/draft_vocab.h"
#include "train/made_data.h"
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { N = 270 }; // of 279 tokens, 256 single bytes and 2 ends among them

typedef struct job {
    fr_opened target;
    fr_tokenizer *tokenizer;
    fr_dataset data;
    char folder[64];
} job;

static int drop(const char *path, const struct stat *s, int type, struct FTW *f) {
    (void)s;
    (void)type;
    (void)f;
    return remove(path);
}

static void open_job(job *j) {
    const fr_kern *kern;
    fr_error err;
    *j = (job){.folder = "draft_vocab_XXXXXX"};
    assert_non_null(mkdtemp(j->folder));
    assert_int_equal(fr_kern_pick(&kern, "scalar", &err), FR_OK);
    fr_opened_open(&j->target, &(fr_tiny_options){.n_layer = 1}, kern, 1);
    assert_int_equal(fr_tokenizer_open(&j->tokenizer, j->target.gguf, &err), FR_OK);
    fr_shard_format f = {.d = 64, .n_vocab = j->target.model.config.n_vocab, .top = 4};
    fr_gguf_fingerprint(j->target.gguf, f.target);
    assert_int_equal(make_shards(j->folder, &f, 1, 100, &err), FR_OK);
    const char *const folders[] = {j->folder};
    if (fr_dataset_open(&j->data, folders, 1, f.target, &(fr_dataset_limits){.max_rows = 64}, NULL,
                        NULL, &err))
        fail_msg("%s", err.text);
}

static void close_job(job *j) {
    fr_dataset_close(&j->data);
    fr_tokenizer_close(j->tokenizer);
    fr_opened_close(&j->target);
    nftw(j->folder, drop, 8, FTW_DEPTH | FTW_PHYS);
}

// How often a token is an answer's, counted once more.
static int uses(const job *j, int32_t id, int first, int n) {
    int count = 0;
    for (int i = first; i < first + n; i++) {
        fr_sample s;
        fr_dataset_sample(&j->data, i, &s);
        for (int row = 0; row < s.n; row++)
            count += s.ids[row + 1] == id && s.flags[row] & FR_ROW_ANSWER;
    }
    return count;
}

static void the_most_used_come_first(void **state) {
    (void)state;
    job j;
    fr_draft_vocab v;
    fr_error err;
    open_job(&j);
    const int held = j.data.n_held, n_vocab = j.target.model.config.n_vocab;
    if (fr_draft_vocab_open(&v, &j.target.model, j.tokenizer, &j.data, N, NULL, NULL, &err))
        fail_msg("%s", err.text);
    assert_int_equal(v.n, N);
    int in = 0;
    for (int i = 0; i < n_vocab; i++) {
        in += v.index[i] >= 0;
        if (v.index[i] >= 0) assert_int_equal(v.ids[v.index[i]], i);
    }
    assert_int_equal(in, N);
    for (int i = 1; i < N; i++) {
        const int before = uses(&j, v.ids[i - 1], held, j.data.n_train);
        const int here = uses(&j, v.ids[i], held, j.data.n_train);
        assert_true(before > here || (before == here && v.ids[i - 1] < v.ids[i]));
    }
    for (int i = 0; i < 256; i++) // bytes, used or not
        assert_true(v.index[i] >= 0);
    assert_true(v.index[fr_tokenizer_special(j.tokenizer)->eos] >= 0);
    fr_draft_vocab_close(&v);
    close_job(&j);
}

static void its_head_is_rows_of_the_target(void **state) {
    (void)state;
    job j;
    fr_draft_vocab v;
    fr_error err;
    float row[64];
    open_job(&j);
    static const int32_t ids[] = {7, 3, 200, 41};
    assert_int_equal(fr_draft_vocab_of(&v, &j.target.model, &j.data, ids, 4, &err), FR_OK);
    int all = 0, in = 0;
    for (int i = 0; i < j.target.model.config.n_vocab; i++) {
        const int n = uses(&j, i, 0, j.data.n_held);
        all += n;
        in += i == 7 || i == 3 || i == 200 || i == 41 ? n : 0;
    }
    assert_near(v.coverage, (double)in / all, 1e-9);
    for (int i = 0; i < 4; i++) {
        fr_unpack_row(&j.target.model.head, ids[i], row);
        assert_memory_equal(v.head + i * 64, row, sizeof row);
    }
    fr_draft_vocab_close(&v);
    assert_int_equal(
        fr_draft_vocab_of(&v, &j.target.model, &j.data, (const int32_t[]){7, 3, 7}, 3, &err),
        FR_EDATA);
    close_job(&j);
}

static void rows_are_the_same_wherever_weights_lie(void **state) {
    (void)state;
    job j;
    fr_model in_place;
    fr_error err;
    float a[64], b[64];
    open_job(&j);
    assert_int_equal(fr_model_open(&in_place, j.target.gguf, j.target.model.kern, j.target.pool,
                                   FR_WEIGHTS_IN_PLACE, NULL, NULL, &err),
                     FR_OK);
    for (int row = 0; row < j.target.model.config.n_vocab; row++) {
        fr_matrix_row(&j.target.model.head, row, a);
        fr_matrix_row(&in_place.head, row, b);
        assert_memory_equal(a, b, sizeof a);
    }
    fr_model_close(&in_place);
    close_job(&j);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_most_used_come_first),
                                       cmocka_unit_test(its_head_is_rows_of_the_target),
                                       cmocka_unit_test(rows_are_the_same_wherever_weights_lie)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
