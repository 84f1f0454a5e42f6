// What clients of llama-server ask for.
#define _GNU_SOURCE
#include "serve/infill.h"
#include "server_world.h"
#include "support/asked.h"

static void llamas_completion_says_how_it_ended(void **state) {
    (void)state;
    json_t *root =
        answer("/completion", "{\"prompt\":\"abc\",\"n_predict\":7,\"temperature\":0,"
                              "\"ignore_eos\":true,\"return_tokens\":true,\"n_probs\":2}");
    assert_string_equal(json_string_value(json_object_get(root, "stop_type")), "limit");
    assert_int_equal(json_array_size(json_object_get(root, "tokens")), 7);
    assert_int_equal(json_array_size(json_object_get(root, "completion_probabilities")), 7);
    assert_int_equal(json_integer_value(json_object_get(root, "tokens_predicted")), 7);
    assert_true(json_is_object(json_object_get(root, "timings")));
    json_decref(root);
    assert_int_equal(
        ask("POST", "/completion", "{\"prompt\":\"abc\",\"n_predict\":7,\"stream\":true}"), 200);
    assert_non_null(strstr(reply, "\"stop\":true"));
    assert_null(strstr(reply, "[DONE]"));
}

// A control token is no text, and yet it is a stop string; an end is the end, unless it is one.
static void a_stop_string_may_be_a_control_token(void **state) {
    (void)state;
    static const struct {
        const char *token, *stop, *type, *word;
        int n_tokens;
    } cases[] = {
        {"<|im_start|>", "[\"~never~\",\"<|im_start|>\"]", "word", "<|im_start|>", 1},
        {"<|im_start|>", "\"<|im_start|><|im_start|>\"", "word", "<|im_start|><|im_start|>", 2},
        {"<|im_start|>", "[]", "limit", "", 3},
        {"<|im_end|>", "[]", "eos", "", 1},
        {"<|im_end|>", "[\"<|im_end|>\"]", "word", "<|im_end|>", 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char body[300];
        const int id = fr_text_find(text, cases[i].token, strlen(cases[i].token));
        snprintf(body, sizeof body,
                 "{\"prompt\":\"abc\",\"n_predict\":3,\"temperature\":0,\"stop\":%s,"
                 "\"logit_bias\":[[%d,100]]}",
                 cases[i].stop, id);
        json_t *root = answer("/completion", body);
        assert_string_equal(json_string_value(json_object_get(root, "stop_type")), cases[i].type);
        assert_string_equal(json_string_value(json_object_get(root, "stopping_word")),
                            cases[i].word);
        assert_int_equal(json_integer_value(json_object_get(root, "tokens_predicted")),
                         cases[i].n_tokens);
        assert_string_equal(json_string_value(json_object_get(root, "content")), "");
        json_decref(root);
    }
}

// What llama-server's clients find beside the answer, and what they leave out of it.
static void answers_have_what_llama_servers_have(void **state) {
    (void)state;
    json_t *root = answer("/completion", TEXT ",\"response_fields\":[\"content\","
                                              "\"generation_settings/n_predict\"]}");
    assert_int_equal(json_object_size(root), 2);
    assert_int_equal(json_integer_value(json_object_get(root, "generation_settings/n_predict")),
                     24);
    json_decref(root);
    root = answer("/completion", TEXT "}");
    const json_t *bias =
        json_object_get(json_object_get(root, "generation_settings"), "logit_bias");
    assert_int_equal(json_array_size(bias), fr_text_describe(text)->n_ends); // "ignore_eos"
    assert_true(json_is_null(json_object_get(json_array_get(bias, 0), "bias")));
    json_decref(root);
    root = answer("/v1/chat/completions", CHAT ",\"verbose\":true}");
    const json_t *prompt = json_object_get(json_object_get(root, "__verbose"), "prompt");
    assert_non_null(strstr(json_string_value(prompt), "abc abc abc"));
    json_decref(root);
}

// Lines, blanks and letters, drawn at random.
#define LINES                                                                                      \
    "{\"prompt\":\"abc\",\"n_predict\":60,\"temperature\":2,\"ignore_eos\":true,\"logit_bias\":"   \
    "[[\"\\n\",100],[\" \",100],[\"a\",100]],\"seed\":%d%s}"

static const char *content_of(const json_t *root) {
    return json_string_value(json_object_get(root, "content"));
}

// Bytes of the text in front of what is indented by no blank, behind the first line; all of them
// where every line is.
static size_t indented(const char *said) {
    const char *line = said;
    while ((line = strchr(line, '\n')) && (line[1] == ' ' || !line[1]))
        line++;
    return line ? (size_t)(line + 1 - said) : strlen(said);
}

static void lines_end_a_text(void **state) {
    (void)state;
    char body[512];
    int n_cut = 0;
    for (int seed = 1; seed <= 10; seed++) {
        snprintf(body, sizeof body, LINES, seed, "");
        json_t *whole = answer("/completion", body);
        const char *said = content_of(whole), *first = strchr(said, '\n');
        const size_t n = indented(said);
        snprintf(body, sizeof body, LINES, seed, ",\"n_indent\":1");
        json_t *cut = answer("/completion", body);
        assert_int_equal(strlen(content_of(cut)), n);
        assert_memory_equal(content_of(cut), said, n);
        assert_string_equal(json_string_value(json_object_get(cut, "stop_type")), "limit");
        assert_false(json_is_true(json_object_get(cut, "truncated")) && n < strlen(said));
        n_cut += n < strlen(said);
        json_decref(cut);
        snprintf(body, sizeof body, LINES, seed, ",\"t_max_predict_ms\":0.001");
        cut = answer("/completion", body);
        const size_t bytes = strlen(content_of(cut));
        assert_memory_equal(content_of(cut), said, bytes);
        assert_true(first ? bytes > (size_t)(first - said) : bytes == strlen(said));
        if (first && first[1] && first[2] && first[3]) assert_true(bytes < strlen(said));
        json_decref(cut);
        json_decref(whole);
    }
    assert_true(n_cut > 0);
}

// An end is never drawn, whatever speaks for it.
static void no_end_is_drawn_where_it_is_ignored(void **state) {
    (void)state;
    const fr_text_info *t = fr_text_describe(text);
    char body[256];
    snprintf(body, sizeof body,
             "{\"prompt\":\"abc\",\"n_predict\":9,\"temperature\":0,\"ignore_eos\":true,"
             "\"return_tokens\":true,\"logit_bias\":[[%d,100]]}",
             t->ends[0]);
    json_t *root = answer("/completion", body);
    const json_t *tokens = json_object_get(root, "tokens");
    assert_int_equal(json_array_size(tokens), 9);
    for (size_t i = 0; i < 9; i++)
        for (int k = 0; k < t->n_ends; k++)
            assert_int_not_equal(json_integer_value(json_array_get(tokens, i)), t->ends[k]);
    json_decref(root);
}

// One event a token where their probabilities are asked for, whatever a pass gave, and however many
// passes there were since the last event.
static void streams_of_probabilities_go_by_token(void **state) {
    (void)state;
    int n = 0;
    assert_int_equal(
        ask("POST", "/completion",
            "{\"prompt\":\"abc aaaaaaaaaaaa\",\"n_predict\":24,\"n_probs\":2,\"stream\":"
            "true,\"ignore_eos\":true,\"temperature\":0,\"logit_bias\":[[\"a\",100]]}"),
        200);
    json_t *event;
    for (char *at = reply; (event = next_event(&at)); json_decref(event)) {
        const json_t *tokens = json_object_get(event, "tokens");
        const json_t *scored = json_object_get(event, "completion_probabilities");
        if (json_is_false(json_object_get(event, "stop"))) {
            assert_string_equal(json_string_value(json_object_get(event, "content")), "a");
            assert_int_equal(json_array_size(tokens), 1);
            assert_int_equal(json_array_size(scored), 1);
            n++;
        }
    }
    assert_int_equal(n, 24);
}

// Tokens in all documents; the last one's id.
static int tokens_of(const char *documents, json_int_t *id) {
    int n = 0;
    for (const char *at = documents; at && (at = strchr(at, '{')); at = strchr(at, '\n')) {
        json_t *doc = json_loads(at, JSON_DISABLE_EOF_CHECK, NULL);
        const json_t *tokens = json_object_get(doc, "tokens");
        const size_t scored = json_array_size(json_object_get(doc, "completion_probabilities"));
        assert_int_equal(json_array_size(tokens), scored);
        if (scored) *id = json_integer_value(json_array_get(tokens, scored - 1));
        n += (int)scored;
        json_decref(doc);
    }
    return n;
}

// An answer that is its end token alone, which has no text.
static void streams_have_the_end_token_of_the_whole(void **state) {
    (void)state;
    char body[256];
    json_int_t end = -1, id = -1;
    const char *form = "{\"prompt\":\"abc\",\"n_predict\":60,\"n_probs\":1,\"seed\":%d,"
                       "\"temperature\":2,\"return_tokens\":true}";
    for (int seed = 0; seed < 200 && end < 0; seed++) {
        snprintf(body, sizeof body, form, seed);
        assert_int_equal(ask("POST", "/completion", body), 200);
        if (strstr(reply, "\"stop_type\":\"eos\"")) tokens_of(strstr(reply, "\r\n\r\n"), &end);
    }
    assert_true(end >= 0);
    form = "{\"prompt\":\"abc\",\"logit_bias\":[[%d,100]],\"n_probs\":1,\"return_tokens\":true,"
           "\"stream\":%s}";
    for (int stream = 0; stream < 2; stream++) {
        snprintf(body, sizeof body, form, (int)end, stream ? "true" : "false");
        assert_int_equal(ask("POST", "/completion", body), 200);
        assert_int_equal(tokens_of(strstr(reply, "\r\n\r\n"), &id), 1);
        assert_int_equal(id, end);
    }
}

// The first says what was known, the last that all is read.
static void expect_progress(const char *target) {
    json_int_t first = -1, last = -1, total = 0, cache = -1;
    assert_int_equal(ask("POST", target,
                         "{\"prompt\":\"abc abc abc abc\",\"max_tokens\":2,\"stream\":true,"
                         "\"cache_prompt\":false,\"return_progress\":true}"),
                     200);
    for (char *at = strstr(reply, "\"prompt_progress\":"); at;
         at = strstr(at + 1, "\"prompt_progress\":")) {
        json_t *how = json_loads(at + 18, JSON_DISABLE_EOF_CHECK, NULL);
        last = json_integer_value(json_object_get(how, "processed"));
        total = json_integer_value(json_object_get(how, "total"));
        cache = json_integer_value(json_object_get(how, "cache"));
        if (first < 0) first = last;
        json_decref(how);
    }
    assert_true(first == cache && last == total && total > 1);
}

static void progress_of_a_prompt_is_told(void **state) {
    (void)state;
    expect_progress("/completion");
    expect_progress("/v1/completions");
}

// The prompt of an answer of so many tokens, as `limit` says, at /infill.
static void infilled_within(char out[1024], int digits, int zs, const char *limit,
                            const char *more) {
    char body[MOST_BODY] = "{\"input_prefix\":\"";
    for (int i = 0; i < digits; i++)
        body[strlen(body) + 1] = 0, body[strlen(body)] = (char)('0' + i % 10);
    strcat(body, "\",\"prompt\":\"--\",\"input_suffix\":\"");
    for (int i = 0; i < zs; i++)
        body[strlen(body) + 1] = 0, body[strlen(body)] = 'z';
    strcat(strcat(body, "\","), limit);
    strcat(body, more);
    json_t *root = answer("/infill", body);
    snprintf(out, 1024, "%s", json_string_value(json_object_get(root, "prompt")));
    assert_true(json_integer_value(json_object_get(root, "tokens_evaluated")) <= CTX - 4);
    json_decref(root);
}

static void infilled(char out[1024], int digits, int zs, const char *more) {
    infilled_within(out, digits, zs, "\"n_predict\":4", more);
}

// 246 tokens have room beside the line at the gap, four marks and the answer. What is cut from the
// beginning of a part goes by 64 tokens.
static void what_does_not_fit_around_a_gap_is_left_out(void **state) {
    char prompt[1024], right[1024];
    const fr_text_info was = text->info;
    (void)state;
    text->info.fim_prefix = 'P', text->info.fim_suffix = 'S', text->info.fim_middle = 'M';
    infilled(prompt, 20, 3, "}");
    assert_string_equal(prompt, "P01234567890123456789--SzzzM");
    infilled(prompt, 300, 200, "}");
    snprintf(right, sizeof right, "P%.172s--S",
             "8901234567890123456789012345678901234567890123456789"
             "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234"
             "567890123456789012345678901234567890123456789");
    assert_memory_equal(prompt, right, strlen(right));
    assert_int_equal(strspn(prompt + strlen(right), "z"), 246 - 172);
    assert_string_equal(prompt + strlen(right) + 246 - 172, "M");
    // Of a text that is much longer than any that fits the beginning is not even read.
    infilled(prompt, 3700 + 64, 200, "}");
    infilled(right, 180 + 64, 200, "}");
    assert_string_equal(prompt + strcspn(prompt, "-"), right + strcspn(right, "-"));
    assert_int_equal(strspn(prompt + 1, "0123456789"), strcspn(prompt, "-") - 1);
    assert_true(strcspn(prompt, "-") > 100 && strcspn(prompt, "-") <= 186);
    assert_memory_equal(strchr(prompt, '-') - 4, "0123", 4);
    infilled(prompt, 300, 0,
             ",\"input_extra\":[{\"text\":\"one\"},{\"text\":\"qqqqqqqqqqqqqqqqqqqqqq"
             "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"
             "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq\"}]}");
    assert_null(strstr(prompt, "one"));
    assert_int_equal(strspn(prompt, "q"), strchr(prompt, 'P') - prompt);
    assert_true(strspn(prompt, "q") > 50);
    assert_non_null(strstr(prompt, "456789--SM"));
    text->info = was;
}

// A text without end, before a gap, after it or in other files, is neither read whole nor when it
// is not wanted any more.
static void long_texts_around_a_gap_are_not_read(void **state) {
    enum { WORDS = 200000, FILES = 2000 };
    const fr_text_info was = text->info;
    fr_buffer words = {0};
    fr_error err;
    (void)state;
    text->info.fim_prefix = 'P', text->info.fim_suffix = 'S', text->info.fim_middle = 'M';
    for (int i = 0; i < WORDS; i++)
        fr_buffer_add(&words, "some words ", 11, &err);
    json_t *files = json_array(), *many = json_array(), *none = json_string("");
    json_t *all = json_stringn(words.data, words.n);
    json_array_append_new(files, json_pack("{s:O}", "text", all));
    for (int i = 0; i < FILES; i++)
        json_array_append_new(many, json_pack("{s:s}", "text", "some words and some words"));
    json_t *const roots[] = {json_pack("{s:O, s:O}", "input_prefix", all, "input_suffix", none),
                             json_pack("{s:O, s:O}", "input_prefix", none, "input_suffix", all),
                             json_pack("{s:O, s:O, s:O}", "input_prefix", none, "input_suffix",
                                       none, "input_extra", files),
                             json_pack("{s:O, s:O, s:O}", "input_prefix", none, "input_suffix",
                                       none, "input_extra", many)};
    for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
        asked on = {.most = INT_MAX}, off = {.most = 20};
        json_t *ids = json_array();
        assert_int_equal(fr_infill_join(&server, roots[i], ids, &ASKED(&on), &err), FR_OK);
        assert_true(json_array_size(ids) > 32 && json_array_size(ids) < CTX);
        assert_true(on.n > 100 && on.n < 10000); // a question for each word that is read
        assert_int_equal(fr_infill_join(&server, roots[i], ids, &ASKED(&off), &err), FR_EINTR);
        assert_int_equal(off.n, 21);
        json_decref(ids);
        json_decref(roots[i]);
    }
    json_decref(files);
    json_decref(many);
    json_decref(none);
    json_decref(all);
    fr_buffer_free(&words);
    text->info = was;
}

// The answer's length by any of its names and forms, null as if it were not there.
static void a_gap_takes_fields_as_completions_do(void **state) {
    static const char invalid[] = "invalid_request_error";
    char prompt[1024], right[1024];
    const fr_text_info was = text->info;
    (void)state;
    text->info.fim_prefix = 'P', text->info.fim_suffix = 'S', text->info.fim_middle = 'M';
    infilled(right, 300, 200, ",\"input_extra\":null}");
    infilled_within(prompt, 300, 200, "\"n_predict\":4.0", "}");
    assert_string_equal(prompt, right);
    infilled_within(prompt, 300, 200, "\"max_tokens\":4", ",\"n_predict\":null}");
    assert_string_equal(prompt, right);
    infilled(prompt, 1, 1, ",\"input_extra\":[{\"text\":\"one\",\"filename\":null}]}");
    assert_non_null(strstr(prompt, "one"));
    expect_error("/infill", "{\"input_prefix\":null,\"input_suffix\":\"\"}", 400, invalid,
                 "input_prefix: expected a string, found nothing");
    expect_error("/infill", "{\"input_prefix\":\"\",\"input_suffix\":\"\",\"input_extra\":[{}]}",
                 400, invalid, "input_extra[0].text: expected a string");
    text->info = was;
}

static void a_prompt_that_is_too_long_is_counted(void **state) {
    (void)state;
    char body[1400] = "{\"prompt\":\"";
    for (int i = 0; i < 300; i++)
        strcat(body, "a b ");
    strcat(body, "\"}");
    assert_int_equal(ask("POST", "/completion", body), 400);
    json_t *root = document(), *error = json_object_get(root, "error");
    assert_int_equal(json_integer_value(json_object_get(error, "n_ctx")), CTX);
    assert_true(json_integer_value(json_object_get(error, "n_prompt_tokens")) >= CTX);
    json_decref(root);
}

// Where the bytes of a prompt alone say that it has no room, the error has the tokens that it has
// at least.
static void a_prompt_that_cannot_fit_is_refused_by_its_bytes(void **state) {
    static const char *const bodies[][3] = {
        {"/completion", "{\"prompt\":\"", "\"}"},
        {"/v1/completions", "{\"prompt\":[\"a\",\"", "\"]}"},
        {"/v1/chat/completions", "{\"messages\":[{\"role\":\"user\",\"content\":\"", "\"}]}"},
        {"/v1/responses", "{\"input\":\"", "\"}"},
        {"/v1/messages", "{\"max_tokens\":1,\"messages\":[{\"role\":\"user\",\"content\":\"",
         "\"}]}"},
    };
    static char body[MOST_BODY];
    const size_t longest = fr_token_longest(engine->tokenizer), n = longest * CTX;
    (void)state;
    assert_true(n < MOST_BODY - 200);
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        strcpy(body, bodies[i][1]);
        memset(body + strlen(body), 'a', n); // the rest is zero
        strcpy(body + strlen(bodies[i][1]) + n, bodies[i][2]);
        assert_int_equal(ask("POST", bodies[i][0], body), 400);
        const bool anthropics = !strcmp(bodies[i][0], "/v1/messages");
        assert_non_null(strstr(reply, anthropics ? "prompt is too long: at least "
                                                 : "context size: expected less than 256 tokens, "
                                                   "found at least "));
        json_t *root = document(), *error = json_object_get(root, "error");
        const json_t *tokens = json_object_get(error, "n_prompt_tokens");
        if (!anthropics) {
            assert_true(json_integer_value(tokens) >= CTX);
            assert_true(json_integer_value(tokens) < (json_int_t)n);
        }
        json_decref(root);
        memset(body, 0, sizeof body);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(llamas_completion_says_how_it_ended),
        cmocka_unit_test(a_stop_string_may_be_a_control_token),
        cmocka_unit_test(answers_have_what_llama_servers_have),
        cmocka_unit_test(lines_end_a_text),
        cmocka_unit_test(no_end_is_drawn_where_it_is_ignored),
        cmocka_unit_test(streams_of_probabilities_go_by_token),
        cmocka_unit_test(streams_have_the_end_token_of_the_whole),
        cmocka_unit_test(progress_of_a_prompt_is_told),
        cmocka_unit_test(what_does_not_fit_around_a_gap_is_left_out),
        cmocka_unit_test(long_texts_around_a_gap_are_not_read),
        cmocka_unit_test(a_gap_takes_fields_as_completions_do),
        cmocka_unit_test(a_prompt_that_is_too_long_is_counted),
        cmocka_unit_test(a_prompt_that_cannot_fit_is_refused_by_its_bytes)};
    return cmocka_run_group_tests_name("serve/llama", tests, open_world, close_world);
}
