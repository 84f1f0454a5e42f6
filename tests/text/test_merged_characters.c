// test_merged_characters.c — vocabularies of the model "gemma4", where ranked merges join characters;
// every expected id follows from the merges by hand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "made_vocab.h"

enum {
    BYTE_0 = 3, // "<0x00>"
    SPACE = 259,
    A,
    E_ACUTE,
    NEWLINE,
    TAB,
    AA,
    SPACE_A,
    SPACES,
    EA,
    NEWLINES,  // two of them; merges make it
    NEWLINES5, // no merge does
    QUOTE,
};

static fr_tokenizer *open_made(const made_vocab *v) {
    fr_tokenizer *t;
    fr_error err = {0};
    if (made_open(v, &t, &err)) fail_msg("%s", err.text);
    return t;
}

static void make(made_vocab *v) {
    made_chars(v, true);
    made_add(v, "▁", FR_TOKEN_NORMAL, 0);
    made_add(v, "a", FR_TOKEN_NORMAL, 0);
    made_add(v, "é", FR_TOKEN_NORMAL, 0);
    made_add(v, "\n", FR_TOKEN_NORMAL, 0);
    made_add(v, "\t", FR_TOKEN_NORMAL, 0);
    made_merge(v, "a a");
    made_merge(v, "▁ a");
    made_merge(v, "▁ ▁");
    made_merge(v, "é a");
    made_merge(v, "\n \n");
    made_add(v, "\n\n\n\n\n", FR_TOKEN_NORMAL, 0);
    assert_int_equal(made_add(v, "<|\"|>", FR_TOKEN_USER, 0), QUOTE);
}

static void check(const fr_tokenizer *t, const char *text, const int32_t *want, size_t n) {
    fr_ids ids = {0};
    assert_int_equal(fr_tokenizer_encode(t, text, strlen(text), 0, &ids, NULL), FR_OK);
    assert_int_equal(ids.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(ids.data[i], want[i]);
    fr_ids_free(&ids);
}

#define CHECK(t, text, ...)                                                                        \
    check(t, text, (const int32_t[]){__VA_ARGS__},                                                 \
          sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static void merges_join_characters_by_rank(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    fr_tokenizer *t = open_made(&v);
    CHECK(t, "aaa", AA, A);
    CHECK(t, "a a", A, SPACE_A);
    CHECK(t, "  a", SPACE, SPACE_A);  // rank 1 before rank 2
    CHECK(t, "aa aa", AA, SPACE, AA); // "a a" has the first rank
    CHECK(t, "éaa", E_ACUTE, AA);
    CHECK(t, "éa", EA);
    CHECK(t, "   ", SPACES, SPACE); // no space is put in front
    fr_tokenizer_close(t);
}

static void a_character_without_a_token_becomes_its_bytes(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    fr_tokenizer *t = open_made(&v);
    CHECK(t, "a中", A, BYTE_0 + 0xE4, BYTE_0 + 0xB8, BYTE_0 + 0xAD);
    CHECK(t, "b", BYTE_0 + 'b');
    CHECK(t, "a\rA", A, BYTE_0 + '\r', BYTE_0 + 'A');
    fr_tokenizer_close(t);
    made_chars(&v, false); // neither has it bytes: left out
    made_add(&v, "a", FR_TOKEN_NORMAL, 0);
    t = open_made(&v);
    CHECK(t, "中a中", 3);
    fr_tokenizer_close(t);
}

static void invalid_bytes_are_read_as_replacement_characters(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    fr_tokenizer *t = open_made(&v);
    CHECK(t, "a\xFF", A, BYTE_0 + 0xEF, BYTE_0 + 0xBF, BYTE_0 + 0xBD);
    CHECK(t, "\xE2\x96 a", BYTE_0 + 0xEF, BYTE_0 + 0xBF, BYTE_0 + 0xBD, SPACE_A);
    CHECK(t, "\xFF▁a", BYTE_0 + 0xEF, BYTE_0 + 0xBF, BYTE_0 + 0xBD, SPACE_A);
    fr_tokenizer_close(t);
}

static void a_lower_block_is_a_space(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    fr_tokenizer *t = open_made(&v);
    CHECK(t, "a▁a", A, SPACE_A);
    CHECK(t, "▁ ", SPACES);
    fr_tokenizer_close(t);
}

static void newlines_alone_are_their_token_without_merges(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    v.merges[v.n_merges] = "\n a"; // crosses lines: never applied
    made_add(&v, "\na", FR_TOKEN_NORMAL, 0);
    v.n_merges++;
    fr_tokenizer *t = open_made(&v);
    CHECK(t, "a\na", A, NEWLINE, A);
    CHECK(t, "\n\n", NEWLINES);
    CHECK(t, "\n\n\n", NEWLINES, NEWLINE);
    CHECK(t, "a\n\n\n\n\n a", A, NEWLINES5, SPACE_A);
    CHECK(t, "\t\n", TAB, NEWLINE);
    fr_tokenizer_close(t);
}

static void the_same_without_that_exception(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    v.model = "gpt2";
    v.pre = "sarvam-moe";
    fr_tokenizer *t = open_made(&v);
    CHECK(t, "a a", A, SPACE_A);
    CHECK(t, "\n\n\n\n\n", NEWLINES, NEWLINES, NEWLINE);
    fr_tokenizer_close(t);
}

static void user_defined_tokens_are_found_first(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    fr_tokenizer *t = open_made(&v);
    CHECK(t, "a<|\"|>a", A, QUOTE, A);
    fr_tokenizer_close(t);
}

static void prompts_begin_with_bos_whatever_the_file_states(void **state) {
    (void)state;
    made_vocab v;
    make(&v);
    v.no_bos = true;
    fr_tokenizer *t = open_made(&v);
    assert_true(fr_tokenizer_special(t)->add_bos);
    assert_int_equal(fr_tokenizer_special(t)->bos, 1);
    fr_tokenizer_close(t);
    v.bos = -1; // it names none: there is no default
    t = open_made(&v);
    assert_false(fr_tokenizer_special(t)->add_bos);
    fr_tokenizer_close(t);
}

static void ids_become_the_text_again(void **state) {
    (void)state;
    static const char text[] = "  a é\n\n\n\n\n\n \t中 <|\"|> a";
    made_vocab v;
    make(&v);
    fr_tokenizer *t = open_made(&v);
    fr_ids ids = {0};
    fr_buffer back = {0};
    assert_int_equal(fr_tokenizer_encode(t, text, strlen(text), 0, &ids, NULL), FR_OK);
    assert_int_equal(fr_tokenizer_decode(t, ids.data, ids.n, &back, NULL), FR_OK);
    assert_int_equal(back.n, strlen(text));
    assert_memory_equal(back.data, text, back.n);
    fr_ids_free(&ids);
    fr_buffer_free(&back);
    fr_tokenizer_close(t);
}

// A line is merged in parts of at most a mebibyte, which end between characters.
static void a_long_line_is_cut_between_characters(void **state) {
    (void)state;
    enum { N = (1 << 20) + 64 };
    made_vocab v;
    make(&v);
    fr_tokenizer *t = open_made(&v);
    char *text = malloc(N);
    size_t n = 0;
    fr_ids ids = {0};
    assert_non_null(text);
    text[n++] = 'a';
    for (; n + 2 <= N; n += 2)
        memcpy(text + n, "é", 2);
    assert_int_equal(fr_tokenizer_encode(t, text, n, 0, &ids, NULL), FR_OK);
    assert_int_equal(ids.n, 1 + (n - 1) / 2);
    for (size_t i = 1; i < ids.n; i++)
        assert_int_equal(ids.data[i], E_ACUTE);
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
    free(text);
}

static void a_merge_of_what_is_no_token_is_refused(void **state) {
    (void)state;
    made_vocab v;
    fr_tokenizer *t;
    fr_error err = {0};
    make(&v);
    v.merges[v.n_merges++] = "a b";
    assert_int_equal(made_open(&v, &t, &err), FR_EDATA);
    assert_non_null(strstr(err.text, "tokenizer.ggml.merges[5]"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_join_characters_by_rank),
        cmocka_unit_test(a_character_without_a_token_becomes_its_bytes),
        cmocka_unit_test(invalid_bytes_are_read_as_replacement_characters),
        cmocka_unit_test(a_lower_block_is_a_space),
        cmocka_unit_test(newlines_alone_are_their_token_without_merges),
        cmocka_unit_test(the_same_without_that_exception),
        cmocka_unit_test(user_defined_tokens_are_found_first),
        cmocka_unit_test(prompts_begin_with_bos_whatever_the_file_states),
        cmocka_unit_test(ids_become_the_text_again),
        cmocka_unit_test(a_long_line_is_cut_between_characters),
        cmocka_unit_test(a_merge_of_what_is_no_token_is_refused),
    };
    return cmocka_run_group_tests_name("text.merged_characters", tests, NULL, NULL);
}
