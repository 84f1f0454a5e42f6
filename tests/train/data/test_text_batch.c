// Many texts at once give what each gives alone: the tokens of plain decoding, the states of a pass
// of one row.
#include "kern/half.h"
#include "support/open_model.h"
#include "train/data/text_batch.h"
#include "train/data/top_logprobs.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { CTX = 80, TEXTS = 11, TOP = 8, NEW = 20, SHORT = 17 };

typedef struct text {
    int32_t ids[CTX];
    int n, n_predict, turns; // turns: how often it goes on
    fr_sampling sampling;
    int n_rows; // seen, and which of them stand for a text beyond the short context
    bool stretched[CTX];
} text;

typedef struct world {
    fr_opened o;
    fr_tokenizer *tokenizer;
    fr_shard_format keep;
    text texts[TEXTS];
    int next, done, distributions; // distributions: rows whose distribution is kept
    int32_t more[CTX];
} world;

static void open_world(world *w, const fr_tiny_options *options) {
    memset(w, 0, sizeof *w);
    fr_opened_open(&w->o, options, &fr_kern_scalar, 2);
    assert_int_equal(fr_tokenizer_open(&w->tokenizer, w->o.gguf, NULL), FR_OK);
    const fr_config *c = &w->o.model.config;
    w->keep = (fr_shard_format){
        .d = c->d, .n_vocab = c->n_vocab, .n_taps = 2, .taps = {1, 2}, .top = TOP};
    for (int i = 0; i < TEXTS; i++) {
        text *t = &w->texts[i];
        t->n = 2 + i * 5 % 23;
        t->n_predict = i % 4 == 3 ? 0 : 1 + i * 7 % NEW;
        t->turns = i % 3 == 0 && t->n_predict;
        fr_test_ids(t->ids, t->n, c->n_vocab, (unsigned)i);
        memcpy(t->ids, w->texts[0].ids, sizeof *t->ids * 2); // all begin alike
        if (i % 2) t->sampling = (fr_sampling){.temperature = 1, .seed = (uint64_t)i};
    }
}

static void close_world(world *w) {
    fr_tokenizer_close(w->tokenizer);
    fr_opened_close(&w->o);
}

// A prompt is read by the table that its length wants, what is written behind it by that of its
// place; rows that were seen in an earlier turn are not read anew.
static void note_rows(world *w, text *t, int n_prompt, int n) {
    for (int i = t->n_rows; i < n; i++)
        t->stretched[i] = fr_model_stretches(&w->o.model, i < n_prompt ? n_prompt - 1 : i);
    t->n_rows = n;
}

static fr_kv open_kv(const world *w, bool stretched) {
    fr_kv kv;
    assert_int_equal(fr_kv_open(&kv, &w->o.model.config, CTX, FR_KV_F16, NULL), FR_OK);
    fr_kv_stretch(&kv, stretched);
    return kv;
}

static void check_row(const world *w, const fr_sample *s, int i, fr_forward *f) {
    const fr_config *c = &w->o.model.config;
    const size_t d = (size_t)c->d;
    int32_t id[TOP];
    uint16_t lp[TOP];
    for (size_t k = 0; k < d; k++) {
        assert_int_equal(s->final[(size_t)i * d + k],
                         fr_f16_from_f32_sat(fr_forward_final(f, 0)[k]));
        for (size_t t = 0; t < 2; t++)
            assert_int_equal(s->tap[(t * (size_t)s->n + (size_t)i) * d + k],
                             fr_f16_from_f32_sat(fr_forward_tap(f, (int)t, 0)[k]));
    }
    fr_top_logprobs(fr_forward_logits(f, 0), c->n_vocab, TOP, id, lp);
    if (s->flags[i] & FR_ROW_DISTRIBUTION) {
        const size_t at = (size_t)(i - s->dist_first) * TOP;
        assert_memory_equal(s->dist_id + at, id, sizeof id);
        assert_memory_equal(s->dist_lp + at, lp, sizeof lp);
    }
}

// What one row at a time gives: the tokens, and what is kept of every row.
static void check_sample(world *w, const fr_sample *s, int n_prompt, text *t) {
    fr_kv kv[2] = {open_kv(w, false), open_kv(w, true)};
    fr_sampler sampler;
    fr_forward *f;
    const fr_forward_limits limits = {.max_taps = 2, .n_ctx = CTX};
    assert_int_equal(fr_forward_open(&f, &w->o.model, &limits, NULL), FR_OK);
    assert_int_equal(fr_sampler_open(&sampler, w->o.model.kern, w->keep.n_vocab, NULL), FR_OK);
    fr_sampler_begin(&sampler, &t->sampling, 0);
    note_rows(w, t, t->n_predict ? n_prompt : s->n, s->n);
    for (int i = 0; i < s->n; i++) {
        const fr_row row = fr_row_token(s->ids[i], FR_PARENT_COMMITTED,
                                        FR_WANT_LOGITS | FR_WANT_FINAL | FR_WANT_TAPS);
        for (int k = 0; k < 2; k++) { // the one that counts last
            fr_kv *at = &kv[k == t->stretched[i]];
            fr_forward_run(f, &(fr_pass){.rows = &row,
                                         .n_rows = 1,
                                         .kv = &at,
                                         .n_seq = 1,
                                         .taps = w->keep.taps,
                                         .n_taps = 2});
            fr_kv_commit(at, (int[]){0}, 1);
        }
        check_row(w, s, i, f);
        w->distributions += (s->flags[i] & FR_ROW_DISTRIBUTION) != 0;
        if (i + 1 < n_prompt) continue;
        assert_true(s->flags[i] & FR_ROW_ANSWER);
        assert_int_equal(s->ids[i + 1],
                         fr_sampler_token(&sampler, fr_forward_logits(f, 0), s->ids, i + 1, i + 1));
    }
    fr_sampler_close(&sampler);
    fr_forward_close(f);
    fr_kv_close(&kv[0]);
    fr_kv_close(&kv[1]);
}

static bool next(void *user, int member, fr_batch_text *t) {
    world *w = user;
    (void)member;
    if (w->next == TEXTS) return false;
    const text *from = &w->texts[w->next];
    *t = (fr_batch_text){.key = (uint64_t)w->next++,
                         .ids = from->ids,
                         .n = from->n,
                         .n_predict = from->n_predict,
                         .sampling = from->sampling};
    return true;
}

static bool done(void *user, int member, const fr_sample *s, int n_prompt, fr_batch_text *more) {
    world *w = user;
    text *t = &w->texts[s->key];
    (void)member;
    w->done++;
    const int written = s->n + 1 - n_prompt;
    if (t->n_predict)
        assert_true(written == t->n_predict || fr_token_is_end(w->tokenizer, s->ids[s->n]));
    else
        assert_int_equal(written, 0);
    check_sample(w, s, t->n_predict ? n_prompt : CTX, t);
    if (!t->turns) return false;
    t->turns--;
    memcpy(w->more, s->ids, sizeof *s->ids * (size_t)(s->n + 1));
    w->more[s->n + 1] = 5;
    *more = (fr_batch_text){.key = s->key,
                            .ids = w->more,
                            .n = s->n + 2,
                            .n_predict = t->n_predict,
                            .sampling = t->sampling};
    return true;
}

static void run_world(const fr_tiny_options *options) {
    world *w = malloc(sizeof *w);
    assert_non_null(w);
    for (int n_members = 1; n_members <= 7; n_members += 3) {
        fr_text_batch *l;
        open_world(w, options);
        int turns = 0;
        for (int i = 0; i < TEXTS; i++)
            turns += 1 + w->texts[i].turns;
        assert_int_equal(
            fr_text_batch_open(&l, &w->o.model, w->tokenizer, &w->keep,
                               &(fr_text_batch_size){.n_members = n_members, .n_ctx = CTX}, NULL),
            FR_OK);
        const fr_text_batch_user user = {.user = w, .next = next, .done = done};
        assert_int_equal(fr_text_batch_run(l, &user, NULL), FR_OK);
        assert_int_equal(w->done, turns);
        assert_true(w->distributions > 0);
        assert_true(fr_text_batch_report(l).written > 0);
        assert_true(fr_text_batch_pass_seconds(l, n_members) > 0);
        fr_text_batch_close(l);
        close_world(w);
    }
    free(w);
}

static void company_changes_nothing(void **state) {
    (void)state;
    run_world(&(fr_tiny_options){.n_layer = 3, .untied = true});
}

static void texts_outgrow_a_table_of_longrope_each_by_itself(void **state) {
    (void)state;
    run_world(&(fr_tiny_options){.arch = "phi3", .n_ctx_short = SHORT});
}

static bool count_done(void *user, int member, const fr_sample *s, int n_prompt,
                       fr_batch_text *more) {
    world *w = user;
    (void)member, (void)s, (void)n_prompt, (void)more;
    w->done++;
    return false;
}

// Token 9 spoils its row: whether it is read or written, whether a distribution is wanted there or
// not.
static void a_broken_model_ends_all_texts_with_a_sentence(void **state) {
    world *w = malloc(sizeof *w);
    (void)state;
    for (int n_predict = 0; n_predict < 2; n_predict++) {
        fr_text_batch *l;
        fr_error err = {0};
        open_world(w, &(fr_tiny_options){.n_layer = 3, .untied = true});
        const fr_gguf_tensor *t = fr_gguf_tensor_find(w->o.gguf, "token_embd.weight");
        ((float *)(uintptr_t)t->data)[9 * w->keep.d + 2] = NAN;
        text *broken = &w->texts[4];
        broken->n = 20;
        broken->n_predict = n_predict;
        fr_test_ids(broken->ids, broken->n, 9, 3);
        broken->ids[15] = 9;
        assert_int_equal(fr_text_batch_open(&l, &w->o.model, w->tokenizer, &w->keep,
                                            &(fr_text_batch_size){.n_members = 1, .n_ctx = CTX},
                                            NULL),
                         FR_OK);
        const fr_text_batch_user user = {.user = w, .next = next, .done = count_done};
        for (int i = 0; i < 4; i++) // the texts before
            for (int k = 0; k < w->texts[i].n; k++)
                w->texts[i].ids[k] %= 9;
        w->texts[0].n_predict = w->texts[1].n_predict = w->texts[2].n_predict = 0;
        assert_int_equal(fr_text_batch_run(l, &user, &err), FR_EDATA);
        assert_non_null(strstr(err.text, "behind 16 tokens are not finite (expected numbers, "
                                         "found infinities or NaN in its last hidden state)"));
        assert_int_equal(w->done, 4);
        fr_text_batch_close(l);
        close_world(w);
    }
    free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(company_changes_nothing),
        cmocka_unit_test(texts_outgrow_a_table_of_longrope_each_by_itself),
        cmocka_unit_test(a_broken_model_ends_all_texts_with_a_sentence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
