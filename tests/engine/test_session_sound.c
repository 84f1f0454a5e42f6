// What the check of a session notices.
#define _GNU_SOURCE
#include "engine/session.h"
#include "support/damage.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

static void the_check_of_a_session_finds_damage(void **state) {
    (void)state;
    char path[64];
    fr_error err;
    fr_engine *e;
    fr_session *s;
    static const int32_t PROMPT[] = {'t', 'h', 'e', ' ', 't', 'h'};
    snprintf(path, sizeof path, "session-sound-%d.gguf", (int)getpid());
    assert_int_equal(fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0}, path, &err), FR_OK);
    assert_int_equal(
        fr_engine_open(&e, path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 1}, &err),
        FR_OK);
    const fr_session_options options = {
        .size = sizeof options, .drafter = "prompt-lookup", .n_ctx = 64};
    assert_int_equal(fr_session_open(&s, e, &options, &err), FR_OK);
    assert_noticed(s->run.stop, (fr_stop *)(void *)s, fr_session_is_sound(s)); // nobody generates

    const fr_request q = {
        .size = sizeof q, .prompt = PROMPT, .n_prompt = 6, .n_predict = 20, .ignore_eos = true};
    assert_int_equal(fr_session_begin(s, &q, &err), FR_OK);
    assert_true(fr_session_step(s));
    assert_noticed(s->engine, NULL, fr_session_is_sound(s));
    assert_noticed(s->drafter, fr_drafter_none(), fr_session_is_sound(s)); // not the decoder's
    assert_noticed(s->tokens, NULL, fr_session_is_sound(s));
    assert_noticed(s->text.n, s->text.cap + 1, fr_session_is_sound(s));
    assert_noticed(s->decoder.n_ids, 65, fr_session_is_sound(s));
    assert_noticed(s->run.s, NULL, fr_session_is_sound(s));
    assert_noticed(s->run.stop, NULL, fr_session_is_sound(s));
    assert_noticed(s->run.clean, NULL, fr_session_is_sound(s));
    assert_noticed(s->run.utf8.n_held, 4, fr_session_is_sound(s));
    assert_noticed(s->result.n_tokens, 65, fr_session_is_sound(s));
    assert_int_equal(fr_session_end(s, &err), FR_OK);
    fr_session_close(s);
    fr_engine_close(e);
    unlink(path);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_check_of_a_session_finds_damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
