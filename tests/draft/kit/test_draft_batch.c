// Blocks of several texts that share a batch, and so passes, against the same blocks by themselves:
// no bit differs, whatever else is in a pass, with and without a head of each text's own.
#include "draft/kit/draft_block.h"
#include "support/draft_at_once.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include "support/weights.h"
#include "tree/dice.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

enum { D = 64, DRAFT = 48, TEXTS = 5, CTX = 200, GUESSES = 6, MOST_TEXT = 60 };
static const uint8_t WANTS = FR_WANT_FINAL | FR_WANT_LOGITS;

typedef struct text { // the same text twice: in the batch of all, and alone
    fr_draft_block shared, own;
    int slot[GUESSES]; // of its guesses
    int n, n_before;   // guesses of this level, and all before
} text;

typedef struct fixture {
    fr_opened target;
    fr_pack_weights *weights;
    char file[32];
    fr_draft_batches batches;
    text text[TEXTS];
} fixture;

static void open_fixture(fixture *f, int room, int threads) {
    fr_error err;
    const fr_kern *kern;
    const fr_tiny_options tiny = {.arch = "llama", .type = FR_TYPE_Q8_0, .n_layer = 1, .d = D};
    const fr_tiny_pack o = {.form = &fr_eagle_form, .n_draft = DRAFT};
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    fr_opened_open(&f->target, &tiny, kern, threads);
    strcpy(f->file, "pack-XXXXXX");
    fr_tiny_pack_write(f->file, &o, &f->target.model);
    f->weights = weights_of(f->file, &f->target.model);
    f->batches = (fr_draft_batches){.n_ctx = CTX};
    for (int i = 0; i < TEXTS; i++)
        if (fr_draft_block_open(&f->text[i].shared, f->weights, CTX - i, room, &f->batches, &err) ||
            fr_draft_block_open(&f->text[i].own, f->weights, CTX, room, NULL, &err))
            fail_msg("%s", err.text);
    assert_non_null(f->batches.first);
    assert_null(f->batches.first->next);
    assert_int_equal(f->batches.first->users, TEXTS);
}

static void close_fixture(fixture *f) {
    for (int i = 0; i < TEXTS; i++) {
        fr_draft_block_close(&f->text[i].shared);
        fr_draft_block_close(&f->text[i].own);
    }
    assert_null(f->batches.first);
    fr_pack_weights_give_back(f->weights);
    unlink(f->file);
    fr_opened_close(&f->target);
}

static void add_text(text *t, int n, int n_vocab) {
    float state[D];
    for (int i = 0; i < n; i++) {
        const int32_t id = dice_below(n_vocab);
        for (int k = 0; k < D; k++)
            state[k] = (float)(4 * dice_unit() - 2);
        fr_draft_block_add(&t->shared, state, id);
        fr_draft_block_add(&t->own, state, id);
        fr_text_head_take(&t->shared.block.head, &id, 1);
        fr_text_head_take(&t->own.block.head, &id, 1);
    }
}

static void expect_same_row(text *t, int row) {
    const size_t m = (size_t)t->own.block.head.n;
    assert_memory_equal(fr_draft_block_state(&t->shared, row), fr_draft_block_state(&t->own, row),
                        sizeof(float) * D);
    assert_memory_equal(fr_draft_block_logits(&t->shared, row), fr_draft_block_logits(&t->own, row),
                        sizeof(float) * m);
}

// Every text waits until its rows are in a pass; how many passes that takes depends on the room.
static void read_texts(fixture *f) {
    fr_draft_batch *b = f->batches.first;
    bool done[TEXTS] = {false}, put[TEXTS];
    for (int left = TEXTS; left;) {
        for (int i = 0; i < TEXTS; i++)
            put[i] = !done[i] && fr_draft_block_put_text(&f->text[i].shared, WANTS);
        b->pass.run(&b->pass);
        for (int i = 0; i < TEXTS; i++) {
            if (!put[i]) continue;
            fr_draft_block_took_text(&f->text[i].shared);
            assert_true(fr_draft_block_read(&f->text[i].own, WANTS));
            expect_same_row(&f->text[i], 0);
            done[i] = true;
            left--;
        }
    }
}

// Guesses of all texts behind what was read, or behind their guesses before.
static void guess(fixture *f, int n_vocab) {
    fr_draft_batch *b = f->batches.first;
    for (int i = 0; i < TEXTS; i++) {
        text *t = &f->text[i];
        fr_draft_block_guess g[GUESSES];
        float state[GUESSES][D];
        int slot[GUESSES];
        t->n = 1 + dice_below(2);
        for (int k = 0; k < t->n; k++) {
            const int behind = t->n_before ? dice_below(t->n_before) : -1;
            for (int j = 0; j < D; j++)
                state[k][j] = (float)dice_unit();
            g[k] = (fr_draft_block_guess){state[k], dice_below(n_vocab),
                                          behind < 0 ? -1 : t->slot[behind]};
        }
        assert_true(fr_draft_block_put_guesses(&t->shared, g, t->n, WANTS));
        guess_at_once(&t->own, g, t->n, WANTS, slot);
        memcpy(t->slot + t->n_before, slot, sizeof *slot * (size_t)t->n);
    }
    b->pass.run(&b->pass);
    for (int i = 0; i < TEXTS; i++) {
        text *t = &f->text[i];
        for (int k = 0; k < t->n; k++) {
            assert_int_equal(fr_draft_block_slot(&t->shared, k), t->slot[t->n_before + k]);
            expect_same_row(t, k);
        }
        t->n_before += t->n;
    }
}

static void rows_of_many_texts_have_the_bits_of_one(void **state) {
    (void)state;
    for (int way = 0; way < 4; way++) {
        fixture f;
        dice_begin(31 + (unsigned)way);
        open_fixture(&f, way % 2 ? 32 : 0, 1 + way / 2);
        const int n_vocab = f.target.model.config.n_vocab;
        for (int step = 0; step < 3; step++) {
            for (int i = 0; i < TEXTS; i++) {
                add_text(&f.text[i], 1 + dice_below(step ? 4 : MOST_TEXT), n_vocab);
                f.text[i].n_before = 0;
            }
            read_texts(&f);
            for (int level = 0; level < 3; level++)
                guess(&f, n_vocab);
            for (int i = 0; i < TEXTS; i++) {
                fr_draft_block_drop(&f.text[i].shared);
                fr_draft_block_drop(&f.text[i].own);
            }
        }
        close_fixture(&f);
    }
}

// The head alone, on states of one text and of several.
static void heads_of_many_texts_have_the_bits_of_one(void **state) {
    (void)state;
    enum { N = 3 };
    fixture f;
    fr_error err;
    static float states[TEXTS][N * D], logits[TEXTS][N * DRAFT], alone[N * DRAFT];
    dice_begin(5);
    open_fixture(&f, 0, 2);
    fr_draft_batch *b = f.batches.first, *own = f.text[0].own.block.batch;
    assert_int_equal(fr_draft_batch_open_head(b, &err), FR_OK);
    for (int texts = 1; texts <= TEXTS; texts += TEXTS - 1) {
        for (int i = 0; i < texts; i++) {
            for (int k = 0; k < N * D; k++)
                states[i][k] = (float)(2 * dice_unit() - 1);
            assert_true(fr_draft_batch_put_states(b, states[i], N, logits[i]));
        }
        b->head_pass.run(&b->head_pass);
        for (int i = 0; i < texts; i++) {
            assert_true(fr_draft_batch_put_states(own, states[i], N, alone));
            own->head_pass.run(&own->head_pass);
            assert_memory_equal(logits[i], alone, sizeof alone);
        }
    }
    close_fixture(&f);
}

static void a_full_pass_takes_no_more(void **state) {
    (void)state;
    fixture f;
    open_fixture(&f, 0, 1);
    fr_draft_batch *b = f.batches.first;
    static float states[64 * D], logits[64 * DRAFT];
    const int most = b->limits.max_logits;
    assert_in_range(most, 16, 64);
    assert_true(fr_draft_batch_put_states(b, states, most - 1, logits));
    assert_false(fr_draft_batch_put_states(b, states, 2, logits));
    assert_true(fr_draft_batch_put_states(b, states, 1, logits));
    b->n_parts = b->n_states = 0;
    const int n_vocab = f.target.model.config.n_vocab;
    for (int i = 0; i < 3; i++)
        add_text(&f.text[i], MOST_TEXT, n_vocab);
    assert_true(fr_draft_block_put_text(&f.text[0].shared, WANTS));
    assert_true(fr_draft_block_put_text(&f.text[1].shared, WANTS));
    assert_false(fr_draft_block_put_text(&f.text[2].shared, WANTS));
    assert_int_equal(b->n_rows, 2 * MOST_TEXT);
    b->pass.run(&b->pass);
    assert_int_equal(b->n_rows, 0);
    assert_true(fr_draft_block_put_text(&f.text[2].shared, WANTS));
    b->pass.run(&b->pass);
    close_fixture(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_of_many_texts_have_the_bits_of_one),
                                       cmocka_unit_test(heads_of_many_texts_have_the_bits_of_one),
                                       cmocka_unit_test(a_full_pass_takes_no_more)};
    return cmocka_run_group_tests_name("draft/kit/draft_batch", tests, NULL, NULL);
}
