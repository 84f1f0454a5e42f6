// test_fewest.c — no text has fewer tokens than its bytes say, whatever the vocabulary: random texts of
// all that vocabularies treat in a way of its own.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <time.h>

#include "made_vocab.h"

static const char *const pieces[] = {"a",
                                     "hello",
                                     " ",
                                     "\n",
                                     "\xE2\x96\x81",
                                     "\xC3\xA9",
                                     "\xF0\x9F\x98\x80",
                                     "\xFF",
                                     "\xE2\x96",
                                     "<|user|>",
                                     "<s>",
                                     "z",
                                     "\t",
                                     "\xE2\x96\x81\xE2\x96\x81\xE2\x96\x81",
                                     "zzzzzzzz",
                                     "aaaaaaaa"};
enum { PIECES = sizeof pieces / sizeof *pieces };

static void add_words(made_vocab *v, int kind) {
    if (kind > 5) { // merges of characters
        made_add(v, "a", FR_TOKEN_NORMAL, 0);
        made_add(v, "\xE2\x96\x81", FR_TOKEN_NORMAL, 0);
        made_merge(v, "a a");
        made_merge(v, "\xE2\x96\x81 \xE2\x96\x81");
    } else if (kind < 2) {
        made_merge(v, "a a");
        made_merge(v, "aa aa");
        made_merge(v, "h e");
    } else {
        made_add(v, "a", FR_TOKEN_NORMAL, 0);
        made_add(v, "aa", FR_TOKEN_NORMAL, 3);
        made_add(v, "\xE2\x96\x81", FR_TOKEN_NORMAL, 1);
        made_add(v, "\xE2\x96\x81\xE2\x96\x81", FR_TOKEN_NORMAL, 2);
    }
    made_add(v, "<|user|>", FR_TOKEN_CONTROL, 0);
}

// Of every kind one that has all bytes and one that has not; the marks of kind 5 take white space.
static fr_tokenizer *open_kind(int kind) {
    static made_vocab v;
    fr_tokenizer *t;
    fr_error err;
    if (kind < 2)
        made_bpe_bytes(&v);
    else if (kind < 6)
        made_spm(&v, kind != 3);
    else
        made_chars(&v, kind == 6);
    if (kind == 1) v.type['z'] = v.type[0xEF] = FR_TOKEN_CONTROL; // bytes without a token
    if (kind == 4) v.unknown = -1;
    if (kind == 5) v.architecture = "phi3";
    add_words(&v, kind);
    if (made_open(&v, &t, &err)) fail_msg("%s", err.text);
    return t;
}

static void no_text_has_fewer(void **state) {
    (void)state;
    const unsigned seed = (unsigned)time(NULL);
    print_message("seed %u\n", seed);
    srand(seed);
    for (int kind = 0; kind < 8; kind++) {
        fr_tokenizer *t = open_kind(kind);
        for (int trial = 0; trial < 400; trial++) {
            fr_buffer text = {0};
            fr_ids ids = {0};
            fr_error err;
            const int n = rand() % 60, few = 1 + rand() % PIECES;
            fr_buffer_reserve(&text, 0, &err);
            for (int i = 0; i < n; i++) {
                const char *piece = pieces[rand() % few];
                fr_buffer_add(&text, piece, strlen(piece), &err);
            }
            const unsigned flags = trial % 2 ? FR_PARSE_SPECIAL : 0;
            assert_int_equal(fr_tokenizer_encode(t, text.data, text.n, flags, &ids, &err), FR_OK);
            const size_t fewest = fr_tokenizer_fewest(t, text.data, text.n);
            if (ids.n < fewest)
                fail_msg("kind %d, '%s': %zu tokens, and not %zu", kind, text.data, ids.n, fewest);
            fr_ids_free(&ids);
            fr_buffer_free(&text);
        }
        fr_tokenizer_close(t);
    }
}

// A bound that is no more than that would refuse nothing: of the longest token there are as many as
// it says.
static void a_text_of_the_longest_tokens_has_so_many(void **state) {
    (void)state;
    char text[801];
    fr_ids ids = {0};
    fr_error err;
    fr_tokenizer *t = open_kind(0);
    const size_t longest = fr_token_longest(t);
    memset(text, 'a', 800);
    text[800] = 0;
    assert_int_equal(fr_tokenizer_fewest(t, text, 800), 800 / longest);
    assert_int_equal(fr_tokenizer_fewest(t, text, 799), 799 / longest + 1);
    assert_int_equal(fr_tokenizer_fewest(t, text, 0), 0);
    for (size_t i = 0; i < 10; i++)
        memcpy(text + 8 * i, "<|user|>", 8);
    assert_int_equal(longest, 8);
    assert_int_equal(fr_tokenizer_encode(t, text, 80, FR_PARSE_SPECIAL, &ids, &err), FR_OK);
    assert_int_equal(ids.n, fr_tokenizer_fewest(t, text, 80));
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_text_has_fewer),
        cmocka_unit_test(a_text_of_the_longest_tokens_has_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
