// `run --request` from outside: the same bytes as the flags that say the same, whoever drafts, and
// a command line that contradicts the body is an error.
#define _GNU_SOURCE
#include "cmd/program.h"
#include "support/quick.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static char folder[64], model[256], path[128], line[2048];
static said s, t;
static bool real; // the model is SmolLM2, else a tiny one

static int set_up_with(const char *name) {
    const char *models = getenv("FR_MODELS");
    fr_error err;
    snprintf(folder, sizeof folder, "request-test-%d", (int)getpid());
    snprintf(line, sizeof line, "mkdir -p %s", folder);
    if (system(line)) return -1;
    snprintf(model, sizeof model, "%s/%s", models ? models : FR_SOURCE_DIR "/models", name);
    real = true;
    if (!access(model, R_OK)) return 0;
    real = false;
    snprintf(model, sizeof model, "%s/tiny.gguf", folder);
    return fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0, .n_ctx = 2048}, model, &err);
}

static int set_up(void **state) {
    (void)state;
    return set_up_with("none of these");
}
static int set_up_real(void **state) {
    (void)state;
    return set_up_with("smollm2-135m.gguf");
}

static int tear_down(void **state) {
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", folder);
    return system(line);
}

static const char *write_file(const char *name, const char *content) {
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
    return path;
}

// Runs the body with some options besides.
static int request(said *to, const char *body, const char *options) {
    snprintf(line, sizeof line, "run -m %s -t 2 --request %s %s", model,
             write_file("body.json", body), options);
    return run_line(to, line);
}

static json_t *document(const said *what) {
    json_error_t error;
    json_t *root = json_loads(what->out, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    if (!root) fail_msg("not JSON: %.200s / %.300s", what->out, what->err);
    return root;
}

// The body and the flags give the same bytes and the same document of tokens.
static void same(const char *body, const char *options, const char *flags) {
    char with[512];
    static const char *const keys[] = {"text",          "tokens", "finish_reason",
                                       "prompt_tokens", "seed",   "completion_tokens"};
    snprintf(with, sizeof with, "-q --drafter prompt-lookup %s", options);
    request(&s, body, with);
    snprintf(line, sizeof line, "run -m %s -t 1 -q --drafter none %s", model, flags);
    run_line(&t, line);
    if (s.code || t.code || s.n_out != t.n_out || memcmp(s.out, t.out, s.n_out))
        fail_msg("%s / %s: '%s' '%s'; %s %s", body, flags, s.out, t.out, s.err, t.err);
    if (real) return; // loading takes a while
    snprintf(with, sizeof with, "--json --drafter prompt-lookup %s", options);
    assert_int_equal(request(&s, body, with), 0);
    snprintf(line, sizeof line, "run -m %s -t 1 --json --drafter none %s", model, flags);
    assert_int_equal(run_line(&t, line), 0);
    json_t *a = document(&s), *b = document(&t);
    const bool drawn = strstr(body, "\"temperature\":0,") == NULL;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if ((drawn || strcmp(keys[i], "seed")) &&
            !json_equal(json_object_get(a, keys[i]), json_object_get(b, keys[i])))
            fail_msg("%s / %s: %s differs", body, flags, keys[i]);
    json_decref(a);
    json_decref(b);
}

#define CHAT "{\"messages\":[{\"role\":\"user\",\"content\":\"Name three rivers\"}],"

static void bodies_give_the_bytes_of_flags(void **state) {
    (void)state;
    char flags[512];
    same(CHAT "\"temperature\":0,\"max_tokens\":40}", "", "-p Name^three^rivers --temp 0 -n 40");
    same(CHAT "\"seed\":7,\"max_completion_tokens\":40}", "",
         "-p Name^three^rivers --temp 0.8 -n 40 -s 7");
    same("{\"prompt\":\"The river that\",\"seed\":7,\"n_predict\":40}", "",
         "-p The^river^that --raw --temp 0.8 -n 40 -s 7");
    same(CHAT "\"seed\":3,\"max_tokens\":40,\"temperature\":1.3,\"top_k\":50,\"top_p\":0.9,"
              "\"min_p\":0.02,\"repeat_penalty\":1.2,\"repeat_last_n\":32}",
         "",
         "-p Name^three^rivers -n 40 -s 3 --temp 1.3 --top-k 50 --top-p 0.9 --min-p 0.02 "
         "--repeat-penalty 1.2 --repeat-last-n 32");
    same(CHAT "\"seed\":3,\"max_tokens\":20,\"temperature\":1.3,\"top_p\":0,\"repeat_last_n\":0,"
              "\"repeat_penalty\":1.5}",
         "",
         "-p Name^three^rivers -n 20 -s 3 --temp 1.3 --top-p 0 --repeat-last-n 0 "
         "--repeat-penalty 1.5");
    same(CHAT "\"temperature\":0,\"max_tokens\":60,\"stop\":[\"e\",\"zz\"]}", "",
         "-p Name^three^rivers --temp 0 -n 60 --stop e --stop zz");
    same(CHAT "\"seed\":5,\"max_tokens\":60,\"ignore_eos\":true}", "",
         "-p Name^three^rivers --temp 0.8 -s 5 -n 60 --ignore-eos");
    snprintf(flags, sizeof flags, "--messages %s --temp 0.8 -s 5 -n 30",
             write_file("messages.json",
                        "[{\"role\":\"system\",\"content\":\"Be brief.\"},{\"role\":"
                        "\"user\",\"content\":\"Name three rivers\"}]"));
    same("{\"messages\":[{\"role\":\"system\",\"content\":\"Be "
         "brief.\"},{\"role\":\"user\",\"content\":"
         "[{\"type\":\"text\",\"text\":\"Name three rivers\"}]}],\"seed\":5,\"max_tokens\":30}",
         "", flags);
    // Choice i draws with seed + i, of whichever prompt.
    same("{\"prompt\":[\"The river\",\"A lake\"],\"n\":2,\"seed\":9,\"max_tokens\":20}",
         "--choice 3", "-p A^lake --raw --temp 0.8 -n 20 -s 10");
    same("{\"prompt\":[\"The river\",\"A lake\"],\"n\":2,\"seed\":9,\"max_tokens\":20}",
         "--choice 0", "-p The^river --raw --temp 0.8 -n 20 -s 9");
    // What the body does not say is the command line's.
    same(CHAT "\"top_k\":50}", "--temp 1.1 -n 25 -s 4 --top-k 50",
         "-p Name^three^rivers --temp 1.1 -n 25 -s 4 --top-k 50");
}

static void nobody_who_drafts_changes_an_answer(void **state) {
    (void)state;
    static const char *const bodies[] = {
        CHAT
        "\"temperature\":0,\"max_tokens\":60,\"frequency_penalty\":0.7,\"presence_penalty\":0.4,"
        "\"logprobs\":true,\"top_logprobs\":3}",
        CHAT
        "\"seed\":11,\"max_tokens\":60,\"temperature\":1,\"frequency_penalty\":1.5,"
        "\"logit_bias\":{\"28\":-100,\"30\":4,\"the\":3},\"logprobs\":true,\"top_logprobs\":20}",
        "{\"prompt\":\"one two three one two three one two\",\"seed\":2,\"max_tokens\":60,"
        "\"repeat_penalty\":1.3,\"repeat_last_n\":-1,\"presence_penalty\":-0.5,\"logprobs\":5,"
        "\"logit_bias\":[[30,false],[31,2.5]]}",
        "{\"prompt\":\"one two three one two three one two\",\"seed\":2,\"max_tokens\":60,"
        "\"repeat_penalty\":1.1,\"frequency_penalty\":-0.3,\"n_probs\":4,\"ignore_eos\":true}",
        "{\"prompt\":\"one two three one two three one two\",\"seed\":8,\"max_tokens\":60,"
        "\"temperature\":1,\"top_k\":9,\"repeat_penalty\":1.1,\"n_probs\":20,"
        "\"post_sampling_probs\":true,\"ignore_eos\":true}"};
    static const char *const drafters[] = {
        "prompt-lookup", "lookahead", "prompt-lookup+lookahead", "auto",
        "medusa",        "eagle",     "prompt-lookup+eagle",     "hidden-state",
        "chimera",       "ppd",       "hidden-transfer"};
    static const char *const keys[] = {
        "tokens", "text", "logprobs", "completion_probabilities", "usage", "finish_reason"};
    const size_t n = real ? sizeof drafters / sizeof *drafters : 3;
    int compared = 0;
    for (size_t b = 0; b < sizeof bodies / sizeof *bodies; b++) {
        assert_int_equal(request(&s, bodies[b], "--json --drafter none"), 0);
        json_t *plain = document(&s);
        for (size_t d = 0; d < n; d++) {
            char options[128];
            snprintf(options, sizeof options, "--json --no-adapt --drafter %s", drafters[d]);
            // A model may have no pack of a kind.
            if (request(&t, bodies[b], options) == 1 && strstr(t.err, "no pack for this model"))
                continue;
            json_t *drafted = document(&t);
            for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
                if (!json_equal(json_object_get(plain, keys[k]),
                                json_object_get(drafted, keys[k])) &&
                    json_object_get(plain, keys[k]))
                    fail_msg("%s, %s: %s differs", drafters[d], bodies[b], keys[k]);
            json_decref(drafted);
            compared++;
        }
        json_decref(plain);
    }
    print_message("%d answers compared\n", compared);
    assert_true(compared >= 12);
}

// Penalties and bias do something, or the test above would say nothing.
static void penalties_and_bias_change_the_text(void **state) {
    (void)state;
    static const char *const fields[] = {"\"frequency_penalty\":2", "\"presence_penalty\":2",
                                         "\"repeat_penalty\":3", "\"ignore_eos\":true"};
    assert_int_equal(
        request(&s, CHAT "\"temperature\":0,\"max_tokens\":100}", "--json --drafter none"), 0);
    json_t *plain = document(&s);
    const json_t *first = json_array_get(json_object_get(plain, "tokens"), 0);
    char body[512];
    int changed = 0;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(body, sizeof body, CHAT "\"temperature\":0,\"max_tokens\":100,%s}", fields[i]);
        assert_int_equal(request(&t, body, "--json --drafter none"), 0);
        json_t *other = document(&t);
        changed += !json_equal(json_object_get(plain, "tokens"), json_object_get(other, "tokens"));
        json_decref(other);
    }
    assert_true(changed >= 3);
    // A token that is forbidden does not come, one that is wanted does.
    snprintf(body, sizeof body,
             CHAT "\"temperature\":0,\"max_tokens\":1,\"logit_bias\":{\"%lld\":false}}",
             (long long)json_integer_value(first));
    assert_int_equal(request(&t, body, "--json --drafter none"), 0);
    json_t *other = document(&t);
    assert_false(json_equal(first, json_array_get(json_object_get(other, "tokens"), 0)));
    json_decref(other);
    assert_int_equal(request(&t,
                             CHAT "\"temperature\":0,\"max_tokens\":1,\"logit_bias\":{\"65\":100}}",
                             "--json --drafter none"),
                     0);
    other = document(&t);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(other, "tokens"), 0)), 65);
    json_decref(other);
    json_decref(plain);
}

// A text read back has the log probabilities that it had when it was written.
static void echoed_logprobs_are_those_of_the_answer(void **state) {
    (void)state;
    assert_int_equal(request(&s,
                             "{\"prompt\":[40,41,42,43],\"max_tokens\":9,\"seed\":3,\"logprobs\":2,"
                             "\"ignore_eos\":true}",
                             "--json --drafter prompt-lookup"),
                     0);
    json_t *written = document(&s);
    json_t *ids = json_pack("[i, i, i, i]", 40, 41, 42, 43);
    json_array_extend(ids, json_object_get(written, "tokens"));
    json_t *body =
        json_pack("{s:O, s:i, s:b, s:i}", "prompt", ids, "max_tokens", 0, "echo", 1, "logprobs", 2);
    char *text = json_dumps(body, JSON_COMPACT);
    assert_int_equal(request(&t, text, "--json --drafter none --isa scalar"), 0);
    json_t *readback = document(&t);
    static const char *const keys[] = {"token_logprobs", "top_logprobs", "tokens"};
    for (size_t k = 0; k < 3; k++) {
        const json_t *a = json_object_get(json_object_get(written, "logprobs"), keys[k]);
        const json_t *b = json_object_get(json_object_get(readback, "logprobs"), keys[k]);
        assert_int_equal(json_array_size(a), 9);
        assert_int_equal(json_array_size(b), 13);
        for (size_t i = 0; i < 9; i++)
            assert_true(json_equal(json_array_get(a, i), json_array_get(b, i + 4)));
    }
    assert_int_equal(json_integer_value(json_object_get(readback, "completion_tokens")), 0);
    free(text);
    json_decref(readback);
    json_decref(body);
    json_decref(ids);
    json_decref(written);
    // Echoed text stands in front of the answer's, on a terminal as in the document.
    assert_int_equal(
        request(&s, "{\"prompt\":\"The end\",\"max_tokens\":4,\"temperature\":0,\"echo\":true}",
                "-q --drafter none"),
        0);
    assert_memory_equal(s.out, "The end", 7);
    assert_int_equal(
        request(&t, "{\"prompt\":\"The end\",\"max_tokens\":4,\"temperature\":0,\"echo\":true}",
                "--json --drafter none"),
        0);
    readback = document(&t);
    assert_string_equal(json_string_value(json_object_get(readback, "text")), s.out);
    json_decref(readback);
}

static void the_document_has_what_was_asked_for(void **state) {
    (void)state;
    assert_int_equal(
        request(&s, "{\"prompt\":[\"a\",\"b\"],\"n\":3,\"max_tokens\":5,\"ignore_eos\":true}",
                "--json --choice 4"),
        0);
    json_t *root = document(&s);
    assert_int_equal(json_integer_value(json_object_get(root, "choice")), 4);
    assert_int_equal(json_integer_value(json_object_get(root, "choices")), 6);
    assert_true(json_is_null(json_object_get(root, "logprobs")));
    const json_t *usage = json_object_get(root, "usage");
    assert_int_equal(json_integer_value(json_object_get(usage, "completion_tokens")), 5);
    assert_int_equal(json_integer_value(json_object_get(usage, "total_tokens")),
                     5 + json_integer_value(json_object_get(usage, "prompt_tokens")));
    // The seed that was drawn gives the same answer again.
    const json_int_t seed = json_integer_value(json_object_get(root, "seed"));
    char body[256];
    snprintf(body, sizeof body,
             "{\"prompt\":\"b\",\"max_tokens\":5,\"ignore_eos\":true,\"seed\":%lld}",
             (long long)seed);
    assert_int_equal(request(&t, body, "--json"), 0);
    json_t *again = document(&t);
    assert_true(json_equal(json_object_get(root, "tokens"), json_object_get(again, "tokens")));
    json_decref(again);
    json_decref(root);
}

static void expect(const char *body, const char *options, int code, const char *sentence) {
    if (request(&s, body, options) != code || !strstr(s.err, sentence) ||
        complaints_in(s.err) != 1 || s.n_out)
        fail_msg("%s %s: exit %d, %s%s", body, options, s.code, s.out, s.err);
}

static void contradictions_are_wrong_command_lines(void **state) {
    (void)state;
    static const char body[] =
        "{\"prompt\":\"x\",\"temperature\":0.5,\"top_k\":3,\"top_p\":0.5,\"min_p\":0.1,"
        "\"repeat_penalty\":2,\"repeat_last_n\":3,\"seed\":1,\"max_tokens\":2,\"drafter\":"
        "\"none\"}";
    static const char *const others[] = {
        "--temp 0.6",        "--top-k 4", "--top-p 0.6", "--min-p 0.2",        "--repeat-penalty 1",
        "--repeat-last-n 4", "-s 2",      "-n 3",        "--drafter lookahead"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        expect(body, others[i], 2, ": the request says otherwise");
    assert_int_equal(request(&s, body,
                             "--temp 0.5 --top-k 3 --top-p 0.5 --min-p 0.1 -s 1 -n 2 "
                             "--repeat-penalty 2 --repeat-last-n 3 --drafter none"),
                     0);
    static const char *const owned[] = {"-p x",  "-f x",     "--messages x",
                                        "--raw", "--stop x", "--ignore-eos"};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        expect(body, owned[i], 2, "belongs into the --request itself");
    expect(body, "--choice 1", 2, "--choice 1: the request has 1");
    snprintf(line, sizeof line, "run -m %s -p x --choice 1", model);
    assert_int_equal(run_line(&s, line), 2);
    assert_non_null(strstr(s.err, "--choice: is one of a --request"));
}

// What is wrong with a body is no mistake of the command line.
static void bad_bodies_exit_1_with_the_fields_path(void **state) {
    (void)state;
    expect("{\"prompt\":\"x\",\"temperature\":\"hot\"}", "", 1,
           "body.json: temperature: expected a number from 0 to 100, found \"hot\"");
    expect("{\"prompt\":[[1],[2,99999999]]}", "", 1,
           "body.json: prompt[1][1]: expected a token id");
    expect("{", "", 1, "body.json: JSON, line 1");
    expect("{\"prompt\":\"x\",\"grammar\":\"root ::= x\"}", "", 1, "grammar: answers cannot be");
    expect("{\"prompt\":\"x\",\"drafter\":\"eagle:packs/x.gguf\"}", "", 1,
           "drafter: expected names alone");
    expect("{\"prompt\":\"x\",\"drafter\":\"nope\"}", "", 1, "drafter 'nope'");
    expect("{\"prompt\":\"x\",\"logprobs\":1}", "--accept typical --drafter prompt-lookup", 2,
           "logprobs: not with accept typical");
    snprintf(line, sizeof line, "run -m %s --request /nonexistent.json", model);
    assert_int_equal(run_line(&s, line), 1);
    assert_non_null(strstr(s.err, "/nonexistent.json: No such file"));
    snprintf(line, sizeof line, "run -m %s -q --request -", model);
    assert_int_equal(run_input(&s, line, "{\"prompt\":\"x\",\"max_tokens\":2}"), 0);
    assert_int_equal(run_input(&s, line, "{}"), 1);
    assert_non_null(strstr(s.err, "standard input: messages: expected these"));
}

int main(void) {
    const struct CMUnitTest tiny[] = {
        cmocka_unit_test(bodies_give_the_bytes_of_flags),
        cmocka_unit_test(nobody_who_drafts_changes_an_answer),
        cmocka_unit_test(echoed_logprobs_are_those_of_the_answer),
        cmocka_unit_test(the_document_has_what_was_asked_for),
        cmocka_unit_test(contradictions_are_wrong_command_lines),
        cmocka_unit_test(bad_bodies_exit_1_with_the_fields_path),
    };
    const struct CMUnitTest smol[] = {
        cmocka_unit_test(bodies_give_the_bytes_of_flags),
        cmocka_unit_test(nobody_who_drafts_changes_an_answer),
        cmocka_unit_test(penalties_and_bias_change_the_text),
        cmocka_unit_test(echoed_logprobs_are_those_of_the_answer),
    };
    const int failed = cmocka_run_group_tests(tiny, set_up, tear_down);
    if (set_up_with("smollm2-135m.gguf") || !real) {
        tear_down(NULL);
        print_message("skip: no smollm2-135m.gguf\n");
        return failed;
    }
    const struct CMUnitTest quick[] = {cmocka_unit_test(penalties_and_bias_change_the_text)};
    if (fr_test_is_quick()) return failed + cmocka_run_group_tests(quick, set_up_real, tear_down);
    return failed + cmocka_run_group_tests(smol, set_up_real, tear_down);
}
