// What the check of a text batch notices. The struct is text_batch.c's own, so that file is a part
// of this test.
#include "support/damage.h"
#include "support/open_model.h"
#include "train/data/text_batch.c"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { CTX = 32, MEMBERS = 2 };

static bool give(void *user, int i, fr_batch_text *text) {
    static const int32_t ids[] = {1, 2, 3, 4};
    (void)i;
    *text = (fr_batch_text){.ids = ids, .n = 4, .n_predict = 8};
    return --*(int *)user >= 0;
}

static bool leave(void *user, int i, const fr_sample *sample, int n_prompt, fr_batch_text *more) {
    (void)user, (void)i, (void)sample, (void)n_prompt, (void)more;
    return false;
}

static void the_check_of_a_batch_finds_damage(void **state) {
    (void)state;
    fr_opened o;
    fr_tokenizer *tokenizer;
    fr_text_batch *l;
    fr_error err;
    int texts = 2;
    fr_opened_open(&o, &(fr_tiny_options){.type = FR_TYPE_Q8_0}, &fr_kern_scalar, 1);
    assert_int_equal(fr_tokenizer_open(&tokenizer, o.gguf, &err), FR_OK);
    const fr_shard_format keep = {
        .d = o.model.config.d, .n_vocab = o.model.config.n_vocab, .top = 4};
    const fr_text_batch_size size = {.n_members = MEMBERS, .n_ctx = CTX};
    assert_int_equal(fr_text_batch_open(&l, &o.model, tokenizer, &keep, &size, &err), FR_OK);
    const fr_text_batch_user user = {.user = &texts, .next = give, .done = leave};
    refill(l, 0, &user);
    member *at = &l->members[0];
    assert_noticed(l->n_members, 0, fr_text_batch_is_sound(l));
    assert_noticed(l->n_rows, l->max_rows + 1, fr_text_batch_is_sound(l));
    assert_noticed(l->kv[1], l->kv[0], fr_text_batch_is_sound(l));
    assert_noticed(at->kv.n_scratch, 1, fr_text_batch_is_sound(l));
    assert_noticed(at->kv.n_committed, 5, fr_text_batch_is_sound(l)); // of a text of four
    assert_noticed(at->n_kept, CTX + 1, fr_text_batch_is_sound(l));
    assert_noticed(at->n_prompt, 0, fr_text_batch_is_sound(l));
    assert_noticed(at->n_ids, 3, fr_text_batch_is_sound(l));
    assert_noticed(at->n_end, CTX + 1, fr_text_batch_is_sound(l));
    assert_int_equal(fr_text_batch_run(l, &user, &err), FR_OK);
    assert_true(fr_text_batch_is_sound(l));
    fr_text_batch_close(l);
    fr_tokenizer_close(tokenizer);
    fr_opened_close(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_check_of_a_batch_finds_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
