// Vocabularies whose types converters got wrong: what the template writes is a token, what a message
// says stays text, and marks of turns end an answer.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "made_vocab.h"

static fr_tokenizer *open_made(const made_vocab *v) {
    fr_tokenizer *t;
    fr_error err = {0};
    if (made_open(v, &t, &err)) fail_msg("%s", err.text);
    return t;
}

static fr_ids encode(const fr_tokenizer *t, const char *text, unsigned flags) {
    fr_ids ids = {0};
    assert_int_equal(fr_tokenizer_encode(t, text, strlen(text), flags, &ids, NULL), FR_OK);
    return ids;
}

// The template's text is the one token; the same in a message is not, nor part of it.
static void is_the_template_s(const fr_tokenizer *t, const char *text, int32_t id) {
    fr_ids ids = encode(t, text, FR_PARSE_SPECIAL);
    assert_int_equal(ids.n, 1);
    assert_int_equal(ids.data[0], id);
    fr_ids_free(&ids);
    ids = encode(t, text, 0);
    assert_true(ids.n > 1);
    for (size_t i = 0; i < ids.n; i++)
        assert_int_not_equal(ids.data[i], id);
    fr_ids_free(&ids);
}

static void stays_text(const fr_tokenizer *t, const char *text, int32_t id) {
    fr_ids ids = encode(t, text, FR_PARSE_SPECIAL);
    for (size_t i = 0; i < ids.n; i++)
        assert_int_not_equal(ids.data[i], id);
    fr_ids_free(&ids);
}

static const int all_types[] = {FR_TOKEN_NORMAL, FR_TOKEN_UNKNOWN, FR_TOKEN_CONTROL,
                                FR_TOKEN_USER,   FR_TOKEN_UNUSED,  FR_TOKEN_BYTE};
enum { N_TYPES = sizeof all_types / sizeof *all_types };

static void marks_of_turns_are_so_whatever_their_type(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool ends;
    } marks[] = {{"<|return|>", true},
                 {"<|call|>", true},
                 {"<|flush|>", true},
                 {"<|calls|>", true},
                 {"<turn|>", true},
                 {"<|turn>", false},
                 {"<|tool_response>", true},
                 {"<end_of_utterance>", true},
                 {"[e~[", true},
                 {"<|im_start|>", false},
                 {"<|im_end|>", true},
                 {"<|eot_id|>", true},
                 {"<start_of_turn>", false},
                 {"<end_of_turn>", true},
                 {"[INST]", false},
                 {"<｜User｜>", false},
                 {"<｜end▁of▁sentence｜>", true}};
    for (size_t m = 0; m < sizeof marks / sizeof *marks; m++)
        for (int k = 0; k < 2 * N_TYPES; k++) {
            made_vocab v;
            if (k % 2)
                made_bpe_bytes(&v);
            else
                made_spm(&v, true);
            const int id = made_add(&v, marks[m].text, all_types[k / 2], 0);
            v.add_space_prefix = 0;
            fr_tokenizer *t = open_made(&v);
            // U+2581 is a space to SentencePiece, and the mark another one.
            if (k % 2 || !strstr(marks[m].text, "▁")) {
                is_the_template_s(t, marks[m].text, id);
                assert_int_equal(fr_token_is_end(t, id), marks[m].ends);
            }
            fr_tokenizer_close(t);
        }
}

// Ordinary tokens are text that looks the same. "</s>" as a user-defined one is HTML.
static void short_ends_end_answers_unless_they_are_text(void **state) {
    (void)state;
    static const char *const ends[] = {"[EOT]", "[EOS]", "_<EOT>", "<EOT>", "<eos>", "</s>"};
    static const int types[] = {FR_TOKEN_NORMAL, FR_TOKEN_USER, FR_TOKEN_CONTROL};
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 3; k++) {
            made_vocab v;
            made_bpe_bytes(&v);
            const int id = made_add(&v, ends[i], types[k], 0);
            const bool is_end =
                types[k] == FR_TOKEN_CONTROL || (types[k] == FR_TOKEN_USER && i < 5);
            fr_tokenizer *t = open_made(&v);
            assert_int_equal(fr_token_is_end(t, id), is_end);
            if (is_end) is_the_template_s(t, ends[i], id);
            fr_tokenizer_close(t);
        }
}

// "<|end|>" ends one message of several in answers that have another end and tool calls.
static void an_end_of_one_message_does_not_end_the_answer(void **state) {
    (void)state;
    static const struct {
        const char *marks[3];
        bool ends;
    } vocabs[] = {
        {{NULL}, true},
        {{"<|return|>"}, true},
        {{"<|call|>"}, true},
        {{"<|flush|>"}, true},
        {{"<|return|>", "<|flush|>"}, true},
        {{"<|return|>", "<|call|>"}, false},
        {{"<|return|>", "<|calls|>"}, false},
        {{"<|flush|>", "<|calls|>"}, false},
        {{"<|flush|>", "<|call|>"}, false},
    };
    for (size_t i = 0; i < sizeof vocabs / sizeof *vocabs; i++)
        for (int named = 0; named < 2; named++) {
            made_vocab v;
            made_bpe_bytes(&v);
            const int id = made_add(&v, "<|end|>", FR_TOKEN_CONTROL, 0);
            for (int m = 0; m < 3 && vocabs[i].marks[m]; m++)
                made_add(&v, vocabs[i].marks[m], FR_TOKEN_CONTROL, 0);
            if (named) v.eos = id; // a key that names it changes nothing
            fr_tokenizer *t = open_made(&v);
            assert_int_equal(fr_token_is_end(t, id), vocabs[i].ends);
            assert_true(fr_token_is_control(t, id));
            for (int m = 0; m < 3 && vocabs[i].marks[m]; m++)
                assert_true(fr_token_is_end(t, id + 1 + m));
            fr_tokenizer_close(t);
        }
}

// Its calls and thoughts are text of the answer, user-defined in its files; its turns are not.
static void gemma4_s_calls_are_shown_and_its_turns_end(void **state) {
    (void)state;
    made_vocab v;
    made_chars(&v, true);
    const int call = made_add(&v, "<|tool_call>", FR_TOKEN_USER, 0);
    const int quote = made_add(&v, "<|\"|>", FR_TOKEN_USER, 0);
    const int response = made_add(&v, "<|tool_response>", FR_TOKEN_USER, 0);
    const int turn = made_add(&v, "<turn|>", FR_TOKEN_USER, 0);
    const int strike = made_add(&v, "</s>", FR_TOKEN_CONTROL, 0);
    fr_tokenizer *t = open_made(&v);
    assert_false(fr_token_is_control(t, call) || fr_token_is_end(t, call));
    assert_false(fr_token_is_control(t, quote) || fr_token_is_end(t, quote));
    is_the_template_s(t, "<|tool_response>", response);
    is_the_template_s(t, "<turn|>", turn);
    assert_true(fr_token_is_end(t, response) && fr_token_is_end(t, turn) && fr_token_is_end(t, 2));
    assert_false(fr_token_is_end(t, strike));
    fr_tokenizer_close(t);
}

// The pieces "<start_of" and "_turn>" would be merged to the mark.
static void no_merge_makes_a_mark(void **state) {
    (void)state;
    made_vocab v;
    made_spm(&v, true);
    v.add_space_prefix = 0;
    made_add(&v, "<", FR_TOKEN_NORMAL, -9);
    made_add(&v, "|", FR_TOKEN_NORMAL, -9);
    made_add(&v, ">", FR_TOKEN_NORMAL, -9);
    made_add(&v, "x", FR_TOKEN_NORMAL, -9);
    made_add(&v, "<|", FR_TOKEN_NORMAL, -1);
    made_add(&v, "|>", FR_TOKEN_NORMAL, -2);
    made_add(&v, "<|x", FR_TOKEN_NORMAL, -3);
    int id = made_add(&v, "<|x|>", FR_TOKEN_NORMAL, -4);
    fr_tokenizer *t = open_made(&v);
    is_the_template_s(t, "<|x|>", id);
    fr_tokenizer_close(t);
    made_bpe_bytes(&v);
    made_merge(&v, "< |");
    made_merge(&v, "| >");
    made_merge(&v, "<| x");
    id = made_merge(&v, "<|x |>");
    t = open_made(&v);
    is_the_template_s(t, "<|x|>", id);
    fr_tokenizer_close(t);
}

static void tokens_with_a_task_are_control_tokens(void **state) {
    (void)state;
    made_vocab v;
    made_spm(&v, true);
    v.type[1] = v.type[2] = FR_TOKEN_NORMAL; // <s> and </s>
    v.add_space_prefix = 0;
    fr_tokenizer *t = open_made(&v);
    is_the_template_s(t, "<s>", 1);
    is_the_template_s(t, "</s>", 2);
    assert_true(fr_token_is_end(t, 2));
    fr_tokenizer_close(t);
    made_bpe_bytes(&v); // a letter that ends texts stays a letter
    v.eos = 'e';
    t = open_made(&v);
    fr_ids ids = encode(t, "he", 0);
    assert_int_equal(ids.data[1], 'e');
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
}

static void entries_that_look_like_tags_stay_text(void **state) {
    (void)state;
    for (int merged = 0; merged < 2; merged++) {
        made_vocab v;
        made_bpe_bytes(&v);
        v.eos = 'e';
        if (merged) made_merge(&v, "< /"), made_merge(&v, "s >");
        const int id = merged ? made_merge(&v, "</ s>") : made_add(&v, "</s>", FR_TOKEN_NORMAL, 0);
        const int bold = made_add(&v, "<b>", FR_TOKEN_NORMAL, 0);
        fr_tokenizer *t = open_made(&v);
        if (!merged) stays_text(t, "</s>", id);
        stays_text(t, "<b>", bold);
        assert_false(fr_token_is_end(t, id));
        fr_tokenizer_close(t);
    }
    made_vocab v; // Gemma 3's
    made_spm(&v, true);
    v.add_space_prefix = 0;
    v.eos = 1;
    v.type[2] = FR_TOKEN_NORMAL;
    const int table = made_add(&v, "<table>", FR_TOKEN_NORMAL, -1000);
    fr_tokenizer *t = open_made(&v);
    stays_text(t, "</s>", 2);
    stays_text(t, "<table>", table);
    assert_false(fr_token_is_end(t, 2));
    fr_tokenizer_close(t);
}

// In byte-level BPE every ordinary token is one that merges make. Another was added to it.
static void added_tokens_are_the_template_s_and_shown(void **state) {
    (void)state;
    made_vocab v;
    made_bpe_bytes(&v);
    const int call = made_add(&v, "<tool_call>", FR_TOKEN_NORMAL, 0);
    const int unused = made_add(&v, "[PAD7]", FR_TOKEN_UNUSED, 0);
    made_merge(&v, ". .");
    made_merge(&v, "[ ..");
    made_merge(&v, ". ]");
    const int merged = made_merge(&v, "[.. .]");
    fr_tokenizer *t = open_made(&v);
    size_t bytes;
    is_the_template_s(t, "<tool_call>", call);
    assert_string_equal(fr_token_shown(t, call, &bytes), "<tool_call>");
    stays_text(t, "[PAD7]", unused);
    fr_ids ids = encode(t, "[...]", 0);
    assert_true(ids.n == 1 && ids.data[0] == merged);
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
}

static void one_mark_of_the_user_s_gives_away_the_others(void **state) {
    (void)state;
    made_vocab v;
    made_bpe_bytes(&v);
    const int start = made_add(&v, "<|im_start|>", FR_TOKEN_USER, 0);
    made_add(&v, "<|im_end|>", FR_TOKEN_CONTROL, 0);
    const int other = made_add(&v, "<|turn|>", FR_TOKEN_USER, 0);
    const int tool = made_add(&v, "<tool>", FR_TOKEN_USER, 0);
    fr_tokenizer *t = open_made(&v);
    is_the_template_s(t, "<|im_start|>", start);
    is_the_template_s(t, "<|turn|>", other);
    fr_ids ids = encode(t, "<tool>", 0);
    assert_true(ids.n == 1 && ids.data[0] == tool);
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
    v.type[start] = FR_TOKEN_CONTROL; // no mark of turns is the user's: what is, may be
    t = open_made(&v);
    ids = encode(t, "<|turn|>", 0);
    assert_true(ids.n == 1 && ids.data[0] == other);
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
}

static void bytes_are_bytes_whatever_their_type(void **state) {
    (void)state;
    for (int k = 0; k < N_TYPES; k++)
        for (int some = 0; some < 2; some++) { // every second byte has its type
            made_vocab v;
            made_spm(&v, true);
            v.add_space_prefix = 0;
            for (int byte = 0; byte < 256; byte++)
                if (!some || byte % 2) v.type[3 + byte] = all_types[k];
            fr_tokenizer *t = open_made(&v);
            fr_ids ids = encode(t, "\n\xC3\xA9", 0);
            assert_int_equal(ids.n, 3);
            assert_int_equal(ids.data[0], 3 + '\n');
            assert_int_equal(ids.data[2], 3 + 0xA9);
            fr_ids_free(&ids);
            ids = encode(t, "<0x0A>", 0);
            assert_int_equal(ids.n, 6);
            fr_ids_free(&ids);
            size_t bytes;
            assert_string_equal(fr_token_bytes(t, 3 + '\n', &bytes), "\n");
            fr_tokenizer_close(t);
        }
}

// U+200D: a token that is written so, and one that merges of its bytes make.
static void merges_make_tokens_of_the_alphabet(void **state) {
    (void)state;
    made_vocab v;
    made_bpe_bytes(&v);
    const int raw = made_add(&v, "\xE2\x80\x8D", FR_TOKEN_NORMAL, 0);
    made_add(&v, "", FR_TOKEN_NORMAL, 0);
    made_add(&v, "  ", FR_TOKEN_NORMAL, 0); // spaces as they are
    made_merge(&v, "\xC3\xA2 \xC4\xA2");    // bytes E2 80
    const int made = made_merge(&v, "\xC3\xA2\xC4\xA2 \xC4\xAF");
    const int spaces = made_merge(&v, "\xC4\xA0 \xC4\xA0");
    for (int whole_words = 0; whole_words < 2; whole_words++) {
        v.pre = whole_words ? "llama-bpe" : "gpt-2";
        fr_tokenizer *t = open_made(&v);
        fr_ids ids = encode(t, "\xE2\x80\x8D", 0);
        assert_int_equal(ids.n, 1);
        assert_int_equal(ids.data[0], made);
        fr_ids_free(&ids);
        ids = encode(t, "   ", 0);
        assert_int_equal(ids.data[0], spaces);
        fr_ids_free(&ids);
        fr_tokenizer_close(t);
    }
    made_bpe_bytes(&v); // no merge makes it
    assert_int_equal(made_add(&v, "\xE2\x80\x8D", FR_TOKEN_NORMAL, 0), raw);
    v.pre = "llama-bpe";
    fr_tokenizer *t = open_made(&v);
    fr_ids ids = encode(t, "\xE2\x80\x8D", 0);
    assert_int_equal(ids.n, 3);
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
}

static void of_equal_tokens_the_first_counts(void **state) {
    (void)state;
    made_vocab v;
    made_bpe_bytes(&v);
    const int first = made_merge(&v, "a b");
    made_merge(&v, "a b");
    fr_tokenizer *t = open_made(&v);
    fr_ids ids = encode(t, "ab", 0);
    assert_true(ids.n == 1 && ids.data[0] == first);
    fr_ids_free(&ids);
    fr_tokenizer_close(t);
}

static void ids_that_there_are_none_of_are_left_out_with_a_note(void **state) {
    (void)state;
    made_vocab v;
    made_bpe_bytes(&v);
    v.eos = v.n;
    v.bos = 'b';
    fr_tokenizer *t = open_made(&v);
    assert_int_equal(fr_tokenizer_special(t)->eos, -1);
    assert_int_equal(fr_tokenizer_special(t)->bos, 'b');
    assert_non_null(strstr(fr_tokenizer_note(t),
                           "tokenizer.ggml.eos_token_id: expected an id below "
                           "256, found 256"));
    fr_tokenizer_close(t);
    made_spm(&v, true); // as if the key were not there
    v.eos = 5000;
    t = open_made(&v);
    assert_int_equal(fr_tokenizer_special(t)->eos, 2);
    assert_non_null(fr_tokenizer_note(t));
    fr_tokenizer_close(t);
    v.eos = UINT32_MAX; // "none"
    t = open_made(&v);
    assert_int_equal(fr_tokenizer_special(t)->eos, -1);
    assert_null(fr_tokenizer_note(t));
    fr_tokenizer_close(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_of_turns_are_so_whatever_their_type),
        cmocka_unit_test(short_ends_end_answers_unless_they_are_text),
        cmocka_unit_test(an_end_of_one_message_does_not_end_the_answer),
        cmocka_unit_test(gemma4_s_calls_are_shown_and_its_turns_end),
        cmocka_unit_test(no_merge_makes_a_mark),
        cmocka_unit_test(tokens_with_a_task_are_control_tokens),
        cmocka_unit_test(entries_that_look_like_tags_stay_text),
        cmocka_unit_test(added_tokens_are_the_template_s_and_shown),
        cmocka_unit_test(one_mark_of_the_user_s_gives_away_the_others),
        cmocka_unit_test(bytes_are_bytes_whatever_their_type),
        cmocka_unit_test(merges_make_tokens_of_the_alphabet),
        cmocka_unit_test(of_equal_tokens_the_first_counts),
        cmocka_unit_test(ids_that_there_are_none_of_are_left_out_with_a_note),
    };
    return cmocka_run_group_tests_name("text.token_types", tests, NULL, NULL);
}
