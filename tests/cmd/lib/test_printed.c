// What a terminal was shown of an answer is what the answer is, also where Ctrl-C cuts it off.
#include "cmd/lib/generate.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char model_path[64], out_path[64];

static int set_up(void **state) {
    (void)state;
    fr_cmd_catch_interrupts();
    snprintf(model_path, sizeof model_path, "printed-test-%d.gguf", (int)getpid());
    snprintf(out_path, sizeof out_path, "printed-test-%d.txt", (int)getpid());
    return fr_tiny_write(&(fr_tiny_options){.n_ctx = 128}, model_path, NULL);
}

static int tear_down(void **state) {
    (void)state;
    remove(out_path);
    return remove(model_path);
}

typedef struct typist { // presses Ctrl-C while a piece is on its way
    fr_printer printer;
    int pieces, at;
} typist;

static bool press_and_print(void *user, const fr_piece *piece) {
    typist *t = user;
    if (piece->bytes && ++t->pieces == t->at) raise(SIGINT);
    return fr_cmd_print_piece(&t->printer, piece);
}

// Generates into out_path instead of stdout.
static void generate(fr_session *s, typist *t, const char *const *stop, const fr_result **r) {
    static const int32_t prompt[] = {'t', 'h', 'e', ' ', 't', 'h', 'e', ' '};
    const fr_request request = {
        .size = sizeof request,
        .prompt = prompt,
        .n_prompt = sizeof prompt / sizeof *prompt,
        .n_predict = 40,
        .ignore_eos = true,
        .sampling = &(fr_sampling){.size = sizeof(fr_sampling), .temperature = 1, .seed = 3},
        .stop = stop,
        .stream = press_and_print,
        .user = t};
    fr_error err = {0};
    fflush(stdout);
    const int old = dup(STDOUT_FILENO);
    assert_non_null(freopen(out_path, "w", stdout));
    fr_cmd_clear_interrupt();
    const fr_status st = fr_session_generate(s, &request, r, &err);
    fr_cmd_clear_interrupt();
    fflush(stdout);
    dup2(old, STDOUT_FILENO);
    close(old);
    if (st) fail_msg("%s", err.text);
}

static void what_was_shown_is_the_answer(void **state) {
    static const char *const drafters[] = {"none", "prompt-lookup"};
    static const char *const stop[] = {"never there", NULL};
    (void)state;
    fr_engine *e;
    fr_error err = {0};
    if (fr_engine_open(&e, model_path,
                       &(fr_engine_options){.size = sizeof(fr_engine_options), .threads = 1}, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < 24; i++) {
        fr_session *s;
        const fr_result *r;
        char shown[4096];
        typist t = {.at = i / 2};
        const fr_session_options o = {.size = sizeof o, .drafter = drafters[i & 1]};
        assert_int_equal(fr_session_open(&s, e, &o, NULL), FR_OK);
        generate(s, &t, i % 3 ? NULL : stop, &r);
        FILE *f = fopen(out_path, "rb");
        assert_non_null(f);
        const size_t n = fread(shown, 1, sizeof shown, f);
        fclose(f);
        assert_int_equal(r->stats->finish, t.at ? FR_FINISH_INTERRUPTED : FR_FINISH_LENGTH);
        assert_int_equal(n, r->text_bytes);
        assert_memory_equal(shown, r->text, n);
        fr_session_close(s);
    }
    fr_engine_close(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_was_shown_is_the_answer)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
