// test_stop.c — the text ends exactly before the stop string that is complete first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "made_vocab.h"
#include "text/stop.h"

// Pushes `text` in pieces of `piece` bytes; what came out, then '!' if it stopped, else what finish
// gives.
static void run(const char *const *strings, const char *text, size_t piece, char *out) {
    fr_stop *s;
    size_t n = strlen(text), w = 0, got;
    bool stopped = false;
    assert_int_equal(fr_stop_open(&s, strings, NULL, NULL), FR_OK);
    for (size_t at = 0, take; at < n && !stopped; at += take) {
        take = n - at < piece ? n - at : piece;
        stopped = fr_stop_push(s, text + at, take, out + w, &got);
        w += got;
    }
    if (stopped) {
        assert_true(fr_stop_push(s, "more", 4, out + w, &got));
        assert_int_equal(got, 0);
        assert_int_equal(fr_stop_finish(s, out + w), 0);
        out[w++] = '!';
    } else {
        w += fr_stop_finish(s, out + w);
    }
    out[w] = 0;
    fr_stop_close(s);
}

#define STRINGS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check(const char *const *strings, const char *text, const char *want) {
    for (size_t piece = 1; piece <= strlen(text) + 1; piece++) {
        char out[256];
        run(strings, text, piece, out);
        assert_string_equal(out, want);
    }
}

static void stop_cuts_before_the_string(void **state) {
    (void)state;
    check(STRINGS("END"), "some text END and more", "some text !");
    check(STRINGS("END"), "ENDless", "!");
    check(STRINGS("END"), "EN, EEND", "EN, E!");
    check(STRINGS("END"), "never EN", "never EN");
    check(STRINGS("aab"), "aaaab", "aa!");
    check(STRINGS("abab"), "ababab", "!");
    check(STRINGS("\n\n"), "a\nb\n\nc", "a\nb!");
    check(STRINGS("abcabd"), "abcabcabd", "abc!");
}

static void stop_takes_the_first_complete_string(void **state) {
    (void)state;
    check(STRINGS("xyz", "b"), "axbyz", "ax!");
    check(STRINGS("bc", "abcd"), "zabcd", "za!"); // "bc" is complete before "abcd"
    check(STRINGS("c", "abc"), "zabc", "z!");     // both end at once: the longer
    check(STRINGS("abc", "c"), "zabc", "z!");
    check(STRINGS("</s>", "<|end|>"), "a<|end</s>", "a<|end!");
}

static void stop_tells_which_string_it_was(void **state) {
    (void)state;
    static const char *const strings[] = {"b", "cd", "xcd", NULL};
    char out[64];
    size_t got;
    fr_stop *s;
    assert_int_equal(fr_stop_open(&s, strings, NULL, NULL), FR_OK);
    assert_int_equal(fr_stop_found(s), -1);
    assert_false(fr_stop_push(s, "xc", 2, out, &got));
    assert_int_equal(fr_stop_found(s), -1);
    assert_true(fr_stop_push(s, "db", 2, out, &got));
    assert_int_equal(fr_stop_found(s), 2); // the longer of two
    fr_stop_reset(s);
    assert_int_equal(fr_stop_found(s), -1);
    assert_true(fr_stop_push(s, "acd", 3, out, &got));
    assert_int_equal(fr_stop_found(s), 1);
    fr_stop_close(s);
}

static void stop_without_strings_holds_nothing(void **state) {
    (void)state;
    check((const char *const[]){NULL}, "text", "text");
    check(NULL, "text", "text");
}

static void stop_holds_only_what_may_become_one(void **state) {
    (void)state;
    fr_stop *s;
    char out[64];
    size_t got;
    assert_int_equal(fr_stop_open(&s, STRINGS("stop"), NULL, NULL), FR_OK);
    assert_false(fr_stop_push(s, "non", 3, out, &got));
    assert_int_equal(got, 3);
    assert_false(fr_stop_push(s, "sto", 3, out, &got));
    assert_int_equal(got, 0);
    assert_false(fr_stop_push(s, "n", 1, out, &got));
    assert_int_equal(got, 4);
    assert_memory_equal(out, "ston", 4);
    assert_false(fr_stop_push(s, "s", 1, out, &got));
    fr_stop_reset(s);
    assert_int_equal(fr_stop_finish(s, out), 0);
    fr_stop_close(s);
}

static void stop_refuses_an_empty_string(void **state) {
    (void)state;
    fr_stop *s;
    fr_error err;
    assert_int_equal(fr_stop_open(&s, STRINGS("a", ""), NULL, &err), FR_EARG);
    assert_null(s);
    assert_non_null(strstr(err.text, "stop string 2"));
    fr_stop_close(NULL);
}

// The definition, slowly: the first end of any string, and the longest string that ends there.
static size_t naive_cut(const char *const *strings, const char *text) {
    for (size_t end = 1; end <= strlen(text); end++) {
        size_t best = 0;
        for (size_t i = 0; strings[i]; i++) {
            size_t n = strlen(strings[i]);
            if (n <= end && n > best && memcmp(text + end - n, strings[i], n) == 0) best = n;
        }
        if (best) return end - best;
    }
    return SIZE_MAX;
}

static void stop_equals_its_definition_on_random_texts(void **state) {
    (void)state;
    const unsigned seed = 7321;
    printf("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 5000; round++) {
        char strings[3][8] = {""}, text[40] = "", want[64], out[256];
        const char *list[4] = {strings[0], strings[1], strings[2], NULL};
        for (int i = 0; i < 3; i++)
            for (int k = 0, n = 1 + rand() % 6; k < n; k++)
                strings[i][k] = "ab"[rand() % 2];
        for (int k = 0, n = rand() % 39; k < n; k++)
            text[k] = "abc"[rand() % 3];
        size_t cut = naive_cut(list, text);
        if (cut == SIZE_MAX)
            snprintf(want, sizeof want, "%s", text);
        else
            snprintf(want, sizeof want, "%.*s!", (int)cut, text);
        run(list, text, 1 + (size_t)rand() % 8, out);
        assert_string_equal(out, want);
    }
}

// ---- control tokens, which are no text

static fr_tokenizer *chat_vocab(void) {
    static made_vocab v;
    fr_tokenizer *t;
    fr_error err;
    made_bpe_bytes(&v);
    v.eos = made_add(&v, "<|im_end|>", FR_TOKEN_CONTROL, 0);
    made_add(&v, "<|im_start|>", FR_TOKEN_CONTROL, 0);
    made_add(&v, "<|x|>", FR_TOKEN_CONTROL, 0);
    made_add(&v, "<tag>", FR_TOKEN_USER, 0);
    if (made_open(&v, &t, &err)) fail_msg("%s", err.text);
    return t;
}

// Pushes the text, of which what stands between '{' and '}' is a control token, piece by piece.
static void run_tokens(const fr_tokenizer *t, const char *const *strings, const char *text,
                       size_t piece, char *out) {
    fr_stop *s;
    size_t w = 0, got;
    bool stopped = false, hidden = false;
    assert_int_equal(fr_stop_open(&s, strings, t, NULL), FR_OK);
    while (*text && !stopped) {
        if (strchr("{}", *text)) {
            hidden = *text++ == '{';
            continue;
        }
        size_t take = strcspn(text, "{}");
        if (take > piece) take = piece;
        stopped = (hidden ? fr_stop_pass : fr_stop_push)(s, text, take, out + w, &got);
        w += got;
        text += take;
        assert_true(fr_stop_is_sound(s));
    }
    if (stopped)
        out[w++] = '!';
    else
        w += fr_stop_finish(s, out + w);
    out[w] = 0;
    fr_stop_close(s);
}

static void a_stop_string_may_name_control_tokens(void **state) {
    (void)state;
    static const struct {
        const char *strings[3], *text, *want;
    } cases[] = {
        {{"<|im_start|>"}, "a{<|x|>}\n{<|im_start|>}b", "a\n!"},
        {{"<|im_start|>"}, "a<|im_start|>b", "a!"}, // written with ordinary tokens
        {{"<|im_end|>"}, "ab{<|im_end|>}", "ab!"},
        {{"\n<|im_start|>user"}, "a\n{<|im_start|>}user b", "a!"},
        {{"\n<|im_start|>user"}, "a\n{<|im_start|>}uses b", "a\nuses b"},
        {{"\n<|im_start|>user"}, "a\n{<|x|>}{<|im_start|>}user b", "a\nuser b"},
        {{"<|x|>ab<|x|>"}, "z{<|x|>}aab{<|x|>}{<|x|>}ab{<|x|>}c", "zaab!"},
        {{"<|x|>ab<|x|>"}, "z{<|x|>}ab{<|x|>}c", "z!"},
        {{"<|x|><|x|>"}, "a{<|x|>}b{<|x|>}{<|x|>}c", "ab!"},
        // One that names none is compared with the text alone.
        {{"ab"}, "za{<|x|>}bc", "z!"},
        {{"ab", "<|im_start|>"}, "za{<|x|>}bc", "z!"},
        {{"ab", "a<|x|>b"}, "za{<|x|>}bc", "z!"},
        {{"<tag>"}, "a{<|x|>}<t{<|x|>}ag>", "a!"}, // the user's own token is text
        {{"user", "<|im_start|>us"}, "a{<|im_start|>}user", "a!"},
    };
    fr_tokenizer *t = chat_vocab();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 20; piece++) {
            char out[256];
            run_tokens(t, cases[i].strings, cases[i].text, piece, out);
            assert_string_equal(out, cases[i].want);
        }
    fr_tokenizer_close(t);
}

// The definition, slowly. all: with what stands between braces; shown[i]: byte i does not.
static size_t naive_cut_of(const fr_tokenizer *t, const char *const *strings, const char *all,
                           const bool *shown) {
    for (size_t end = 1; end <= strlen(all); end++) {
        size_t best = SIZE_MAX, text = 0;
        char said[64];
        for (size_t i = 0; i < end; i++)
            if (shown[i]) said[text++] = all[i];
        for (size_t i = 0; strings[i]; i++) {
            const size_t n = strlen(strings[i]);
            size_t cut = SIZE_MAX;
            if (fr_tokenizer_names_control(t, strings[i], n)) {
                if (n <= end && !memcmp(all + end - n, strings[i], n))
                    for (size_t k = cut = 0; k < end - n; k++)
                        cut += shown[k];
            } else if (shown[end - 1] && n <= text && !memcmp(said + text - n, strings[i], n)) {
                cut = text - n;
            }
            if (cut < best) best = cut;
        }
        if (best != SIZE_MAX) return best;
    }
    return SIZE_MAX;
}

static void stop_equals_its_definition_with_control_tokens(void **state) {
    (void)state;
    static const char *const parts[] = {"a", "b", "ab", "<|x|>", "<"};
    const unsigned seed = 9127;
    fr_tokenizer *t = chat_vocab();
    printf("seed %u\n", seed);
    srand(seed);
    for (int round = 0; round < 5000; round++) {
        char strings[3][40] = {""}, text[128] = "", all[64] = "", want[64] = "", out[256];
        const char *list[4] = {strings[0], strings[1], strings[2], NULL};
        bool shown[64];
        for (int i = 0; i < 3; i++)
            for (int k = 0, n = 1 + rand() % 4; k < n; k++)
                strcat(strings[i], parts[rand() % 5]);
        for (int k = 0, n = rand() % 8; k < n; k++) {
            const char *part = parts[rand() % 5];
            const bool hides = part[0] == '<' && part[1] && rand() % 4;
            for (size_t i = 0; i < strlen(part); i++)
                shown[strlen(all) + i] = !hides;
            strcat(all, part);
            sprintf(text + strlen(text), hides ? "{%s}" : "%s", part);
        }
        const size_t cut = naive_cut_of(t, list, all, shown);
        size_t w = 0;
        for (size_t i = 0; i < strlen(all); i++)
            if (shown[i]) want[w++] = all[i];
        if (cut != SIZE_MAX) strcpy(want + cut, "!");
        run_tokens(t, list, text, 1 + (size_t)rand() % 8, out);
        assert_string_equal(out, want);
    }
    fr_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stop_cuts_before_the_string),
        cmocka_unit_test(stop_takes_the_first_complete_string),
        cmocka_unit_test(stop_tells_which_string_it_was),
        cmocka_unit_test(stop_without_strings_holds_nothing),
        cmocka_unit_test(stop_holds_only_what_may_become_one),
        cmocka_unit_test(stop_refuses_an_empty_string),
        cmocka_unit_test(stop_equals_its_definition_on_random_texts),
        cmocka_unit_test(a_stop_string_may_name_control_tokens),
        cmocka_unit_test(stop_equals_its_definition_with_control_tokens),
    };
    return cmocka_run_group_tests_name("text.stop", tests, NULL, NULL);
}
