// Bodies of requests: every field arrives, every wrong one is named by its path, and what cannot be
// honoured is refused. Expected values are OpenAI's and llama-server's documents', not the
// reader's.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/answer.h"
#include "api/logprobs.h"
#include "api_world.h"
#include "decode/draw/sampler.h"
#include "thinking_templates.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static fr_api_request r;

static fr_status read_body(const char *json) {
    const fr_api_defaults usual = fr_api_usual(77);
    err = (fr_error){0};
    fr_status st = fr_api_parse(&r, FR_API_ANY, json, strlen(json), &usual, &err);
    return st ? st : fr_api_encode(&r, &model, &err);
}

static void take(const char *json) {
    if (read_body(json)) fail_msg("%s: %s", json, err.text);
}

static fr_request ask(int choice) { // its sampling is good until the next
    static fr_sampling sampling;
    fr_request q;
    fr_api_ask(&r, choice, &q, &sampling);
    return q;
}

// A completion, or a chat, with these fields besides.
static const char *text_with(const char *fields) {
    static char body[(1 << 20) + 4096];
    snprintf(body, sizeof body, "{\"prompt\":\"the end\"%s%s}", *fields ? "," : "", fields);
    return body;
}
static const char *chat_with(const char *fields) {
    static char body[2048];
    snprintf(body, sizeof body, "{\"messages\":[{\"role\":\"user\",\"content\":\"the end\"}]%s%s}",
             *fields ? "," : "", fields);
    return body;
}

static void refuse(const char *body, const char *sentence) {
    const fr_status st = read_body(body);
    if (!st) fail_msg("%s: taken", body);
    if (strncmp(err.text, sentence, strlen(sentence)))
        fail_msg("%s: '%s', not '%s'", body, err.text, sentence);
    fr_api_close(&r);
}

static void a_silent_body_gets_a_servers_defaults(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) {
        take(i ? chat_with("") : text_with(""));
        assert_int_equal(r.kind, i ? FR_API_CHAT : FR_API_COMPLETION);
        const fr_request q = ask(0);
        assert_true(q.sampling->temperature == 0.8f && q.sampling->top_p == 0.95f);
        assert_true(q.sampling->min_p == 0.05f && q.sampling->repeat_penalty == 1);
        assert_true(q.sampling->frequency_penalty == 0 && q.sampling->presence_penalty == 0);
        assert_int_equal(q.sampling->top_k, 40);
        assert_int_equal(q.sampling->repeat_last_n, 64);
        assert_true(q.sampling->seed == 77 && !r.seed_given);
        assert_int_equal(q.n_predict, -1);
        assert_int_equal(fr_api_choices(&r), 1);
        assert_true(!q.stop && !q.ignore_eos && !q.logprobs && !q.sampling->n_bias);
        assert_true(!r.stream && !r.include_usage && !r.echo && !r.tools && r.cache_prompt);
        assert_true(!r.model && !r.user && !r.drafter && r.id_slot == -1);
        assert_true(!r.keeps_thinking && !r.thinks);
        assert_int_equal(r.prediction.n, 0);
        fr_api_close(&r);
    }
}

// null is absent, and an unknown field is nothing.
static void null_and_unknown_fields_change_nothing(void **state) {
    (void)state;
    static const char *const names[] = {"model",
                                        "user",
                                        "drafter",
                                        "temperature",
                                        "top_k",
                                        "top_p",
                                        "min_p",
                                        "repeat_penalty",
                                        "repeat_last_n",
                                        "frequency_penalty",
                                        "presence_penalty",
                                        "max_tokens",
                                        "max_completion_tokens",
                                        "n_predict",
                                        "n",
                                        "n_cmpl",
                                        "ignore_eos",
                                        "stream",
                                        "top_logprobs",
                                        "n_probs",
                                        "cache_prompt",
                                        "timings_per_token",
                                        "return_tokens",
                                        "id_slot",
                                        "seed",
                                        "stop",
                                        "logprobs",
                                        "stream_options",
                                        "reasoning_format",
                                        "tools",
                                        "tool_choice",
                                        "prediction",
                                        "logit_bias",
                                        "grammar",
                                        "json_schema",
                                        "response_format",
                                        "lora",
                                        "mirostat",
                                        "post_sampling_probs",
                                        "dry_multiplier",
                                        "chat_template_kwargs",
                                        "enable_thinking"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char field[64];
        snprintf(field, sizeof field, "\"%s\":null", names[i]);
        take(chat_with(field));
        assert_true(r.sampling.temperature == 0.8f && r.n_predict == -1 && r.n == 1);
        fr_api_close(&r);
        take(text_with(field));
        fr_api_close(&r);
    }
    take(text_with("\"echo\":null,\"best_of\":null,\"suffix\":null"));
    fr_api_close(&r);
    take(chat_with("\"store\":true,\"metadata\":{\"a\":[1]},\"service_tier\":\"auto\",\"\":7,"
                   "\"echo\":\"of the other API\""));
    fr_api_close(&r);
}

static void every_plain_field_arrives(void **state) {
    (void)state;
    take(text_with("\"model\":\"m\",\"user\":\"u\",\"drafter\":\"none\",\"temperature\":1.5,"
                   "\"top_k\":7,\"top_p\":0.5,\"min_p\":0.25,\"repeat_penalty\":1.25,"
                   "\"repeat_last_n\":-1,\"frequency_penalty\":-0.5,\"presence_penalty\":2,"
                   "\"max_tokens\":9,\"n\":3,\"ignore_eos\":true,\"stream\":true,\"echo\":true,"
                   "\"n_probs\":4,\"cache_prompt\":false,\"timings_per_token\":true,"
                   "\"return_tokens\":true,\"id_slot\":2,\"seed\":5,\"logprobs\":3,"
                   "\"stream_options\":{\"include_usage\":true},\"reasoning_format\":\"none\","
                   "\"best_of\":3,\"suffix\":\"\""));
    const fr_request q = ask(2);
    assert_string_equal(r.model, "m");
    assert_string_equal(r.user, "u");
    assert_string_equal(r.drafter, "none");
    assert_true(q.sampling->temperature == 1.5f && q.sampling->top_k == 7);
    assert_true(q.sampling->top_p == 0.5f && q.sampling->min_p == 0.25f);
    assert_true(q.sampling->repeat_penalty == 1.25f && q.sampling->repeat_last_n == -1);
    assert_true(q.sampling->frequency_penalty == -0.5f && q.sampling->presence_penalty == 2);
    assert_int_equal(q.n_predict, 9);
    assert_int_equal(r.n, 3);
    assert_true(q.ignore_eos && r.stream && r.echo && r.include_usage);
    assert_true(!r.cache_prompt && r.timings_per_token && r.return_tokens && r.id_slot == 2);
    assert_true(r.seed_given && q.sampling->seed == 5 + 2); // choice 2
    assert_true(q.logprobs && q.top_logprobs == 4 && r.top_logprobs == 3 && r.n_probs == 4);
    assert_false(q.drawn_logprobs);
    assert_true(r.keeps_thinking);
    fr_api_close(&r);
}

static void probabilities_may_be_those_drawn_with(void **state) {
    (void)state;
    take(text_with("\"n_probs\":2,\"post_sampling_probs\":true"));
    const fr_request q = ask(0);
    assert_true(q.logprobs && q.drawn_logprobs && q.top_logprobs == 2);
    fr_api_close(&r);
}

static void limits_of_tokens_have_an_order(void **state) {
    (void)state;
    take(text_with("\"n_predict\":3,\"max_completion_tokens\":2,\"max_tokens\":1"));
    assert_int_equal(r.n_predict, 3);
    fr_api_close(&r);
    take(chat_with("\"max_completion_tokens\":2,\"max_tokens\":1"));
    assert_int_equal(r.n_predict, 2);
    fr_api_close(&r);
    take(chat_with("\"max_tokens\":0"));
    assert_int_equal(r.n_predict, 0);
    fr_api_close(&r);
    take(chat_with("\"max_tokens\":16.0")); // a whole number, however it is written
    assert_int_equal(r.n_predict, 16);
    fr_api_close(&r);
}

// A 0 means 0, which is not what the engine's structs mean by it.
static void zeros_and_minus_ones_mean_what_they_say(void **state) {
    (void)state;
    take(text_with("\"top_p\":0,\"repeat_last_n\":0,\"repeat_penalty\":1.5,\"temperature\":0"));
    fr_sampling s = *ask(0).sampling;
    assert_true(s.top_k == 1 && s.repeat_penalty == 1 && s.temperature == 0);
    fr_api_close(&r);
    take(text_with("\"top_k\":-1,\"min_p\":0"));
    s = *ask(0).sampling;
    assert_true(s.top_k == 0 && s.min_p == 0);
    fr_api_close(&r);
}

static void seeds_are_whole_and_counted_on(void **state) {
    (void)state;
    static const struct {
        const char *field;
        uint64_t seed;
        bool given;
    } seeds[] = {{"\"seed\":0", 0, true},
                 {"\"seed\":9223372036854775807", INT64_MAX, true},
                 {"\"seed\":18446744073709551614", UINT64_MAX - 1, true},
                 {"\"seed\":9223372036854775808", (uint64_t)INT64_MAX + 1, true},
                 {"\"seed\":-2", UINT64_MAX - 1, true},
                 {"\"seed\":-9223372036854775808", (uint64_t)INT64_MAX + 1, true},
                 {"\"seed\":3.0", 3, true},
                 {"\"seed\":-1", 77, false}};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        take(text_with(seeds[i].field));
        if (r.sampling.seed != seeds[i].seed || r.seed_given != seeds[i].given)
            fail_msg("%s: %llu", seeds[i].field, (unsigned long long)r.sampling.seed);
        fr_api_close(&r);
    }
    // Choices of a prompt draw with seed + i; those of the next prompt do so again.
    take("{\"prompt\":[\"a\",\"b\"],\"n\":2,\"seed\":10}");
    assert_int_equal(fr_api_choices(&r), 4);
    for (int i = 0; i < 4; i++) {
        const fr_request q = ask(i);
        assert_true(q.sampling->seed == 10u + (unsigned)i % 2);
        assert_ptr_equal(q.prompt, r.prompt[i / 2].data);
    }
    fr_api_close(&r);
}

static void stops_are_a_string_or_many(void **state) {
    (void)state;
    take(text_with("\"stop\":\"END\""));
    const fr_request q = ask(0);
    assert_string_equal(q.stop[0], "END");
    assert_null(q.stop[1]);
    fr_api_close(&r);
    take(chat_with("\"stop\":[\"a\",\"\",\"\\n\\n\",\"c\",\"d\",\"e\"]"));
    assert_string_equal(r.stop[1], "\n\n");
    assert_string_equal(r.stop[4], "e");
    assert_null(r.stop[5]);
    fr_api_close(&r);
    take(text_with("\"stop\":[]"));
    assert_null(ask(0).stop);
    fr_api_close(&r);
    take(text_with("\"stop\":\"\""));
    assert_null(ask(0).stop);
    fr_api_close(&r);
    refuse(text_with("\"stop\":5"), "stop: expected a string or a list of strings, found 5");
    refuse(text_with("\"stop\":[\"a\",5]"), "stop[1]: expected a string, found 5");
    refuse(text_with("\"stop\":[null]"), "stop[0]: expected a string, found null");
    refuse(text_with("\"stop\":\"a\\u0000b\""), "stop: expected a string");
}

// A list of n times this.
static const char *many(const char *name, const char *item, int n) {
    static char field[1 << 16];
    int at = sprintf(field, "\"%s\":[%s", name, item);
    for (int i = 1; i < n; i++)
        at += sprintf(field + at, ",%s", item);
    strcpy(field + at, "]");
    return field;
}

static void lists_have_an_end(void **state) {
    (void)state;
    char said[80];
    take(text_with(many("stop", "\"a\"", 256)));
    fr_api_close(&r);
    refuse(text_with(many("stop", "\"a\"", 257)), "stop: expected at most 256 strings, found 257");
    take(text_with(many("logit_bias", "[65,1]", model.n_vocab)));
    assert_int_equal(r.n_bias, model.n_vocab);
    fr_api_close(&r);
    snprintf(said, sizeof said, "logit_bias: expected at most %d tokens", model.n_vocab);
    refuse(text_with(many("logit_bias", "[65,1]", model.n_vocab + 1)), said);
    char *each = malloc((size_t)model.n_vocab * 16 + 32), *at = each;
    at += sprintf(at, "\"logit_bias\":[");
    for (int i = 0; i < model.n_vocab; i++)
        at += sprintf(at, "[%d,false]%s", i, i + 1 < model.n_vocab ? "," : "]");
    refuse(text_with(each), "logit_bias: expected a token that may come, found none of");
    free(each);
    char *stop = malloc((2 << 20) + 32);
    strcpy(stop, "\"stop\":[\"x\",\"");
    memset(stop + strlen(stop), 'y', 1 << 20);
    strcpy(stop + 13 + (1 << 20), "\"]");
    refuse(text_with(stop), "stop: expected at most 1 MiB together, found more");
    free(stop);
}

static float bias_of(int32_t token) {
    for (size_t i = 0; i < r.n_bias; i++)
        if (r.bias[i].token == token) return r.bias[i].bias;
    return NAN;
}

static void bias_is_an_object_or_pairs(void **state) {
    (void)state;
    take(text_with("\"logit_bias\":{\"65\":-100,\"66\":2.5,\"67\":false}"));
    assert_int_equal(ask(0).sampling->n_bias, 3);
    assert_true(bias_of(65) == -100 && bias_of(66) == 2.5f && bias_of(67) == -INFINITY);
    fr_api_close(&r);
    take(text_with("\"logit_bias\":[[65,1],[66.0,false],[\"D\",-3]]"));
    assert_true(bias_of(65) == 1 && bias_of(66) == -INFINITY && bias_of('D') == -3);
    fr_api_close(&r);
    take(text_with("\"logit_bias\":{\"xyz\":1}")); // ids 0 to 255 are the bytes
    assert_true(r.n_bias >= 1 && r.n_bias <= 3);
    fr_api_close(&r);
    take(text_with("\"logit_bias\":{}"));
    assert_int_equal(r.n_bias, 0);
    fr_api_close(&r);
    refuse(text_with("\"logit_bias\":{\"65\":101}"),
           "logit_bias.65: expected a number from -100 to 100, or false, found 101");
    refuse(text_with("\"logit_bias\":{\"65\":true}"), "logit_bias.65: expected a number");
    refuse(text_with("\"logit_bias\":{\"65\":null}"), "logit_bias.65: expected a number");
    refuse(text_with("\"logit_bias\":{\"99999999999999999999\":1}"),
           "logit_bias.99999999999999999999: expected a token id below ");
    refuse(text_with("\"logit_bias\":[[65]]"), "logit_bias[0]: expected a pair");
    refuse(text_with("\"logit_bias\":[[65,1],7]"), "logit_bias[1]: expected a pair");
    refuse(text_with("\"logit_bias\":[[-1,1]]"), "logit_bias[0][0]: expected a token id below ");
    refuse(text_with("\"logit_bias\":[[1.5,1]]"), "logit_bias[0][0]: expected a token id below ");
    refuse(text_with("\"logit_bias\":[[65,\"1\"]]"), "logit_bias[0][1]: expected a number");
    refuse(text_with("\"logit_bias\":5"), "logit_bias: expected an object or a list of pairs");
}

static const struct {
    const char *field, *says;
    int where; // 1: text completions, 2: chats, 3: both
} wrong[] = {
    {"\"model\":5", "model: expected a string, found 5", 3},
    {"\"user\":[]", "user: expected a string, found a list", 3},
    {"\"drafter\":{}", "drafter: expected a string, found an object", 3},
    {"\"temperature\":\"hot\"", "temperature: expected a number from 0 to 100, found \"hot\"", 3},
    {"\"temperature\":-0.1", "temperature: expected a number from 0 to 100, found -0.1", 3},
    {"\"temperature\":100.5", "temperature: expected a number from 0 to 100", 3},
    {"\"temperature\":true", "temperature: expected a number from 0 to 100, found true", 3},
    {"\"top_k\":1.5", "top_k: expected a whole number from -1 to 2147483647, found 1.5", 3},
    {"\"top_k\":-2", "top_k: expected a whole number from -1", 3},
    {"\"top_k\":99999999999999999999", "top_k: expected a whole number from -1", 3},
    {"\"top_p\":1.01", "top_p: expected a number from 0 to 1, found 1.01", 3},
    {"\"min_p\":-1", "min_p: expected a number from 0 to 1, found -1", 3},
    {"\"repeat_penalty\":0", "repeat_penalty: expected a number from 0.01 to 100, found 0", 3},
    {"\"repeat_last_n\":-2", "repeat_last_n: expected a whole number from -1", 3},
    {"\"frequency_penalty\":2.1", "frequency_penalty: expected a number from -2 to 2", 3},
    {"\"presence_penalty\":\"1\"", "presence_penalty: expected a number from -2 to 2", 3},
    {"\"max_tokens\":-2", "max_tokens: expected a whole number from -1", 3},
    {"\"max_completion_tokens\":\"5\"", "max_completion_tokens: expected a whole number", 3},
    {"\"n_predict\":1e20", "n_predict: expected a whole number", 3},
    {"\"n\":0", "n: expected a whole number from 1 to 128, found 0", 3},
    {"\"n\":129", "n: expected a whole number from 1 to 128", 3},
    {"\"ignore_eos\":1", "ignore_eos: expected true or false, found 1", 3},
    {"\"stream\":\"yes\"", "stream: expected true or false", 3},
    {"\"n_probs\":21", "n_probs: expected a whole number from 0 to 20", 3},
    {"\"cache_prompt\":0", "cache_prompt: expected true or false", 3},
    {"\"timings_per_token\":[]", "timings_per_token: expected true or false", 3},
    {"\"return_tokens\":{}", "return_tokens: expected true or false", 3},
    {"\"return_drafted\":1", "return_drafted: expected true or false", 2},
    {"\"id_slot\":-2", "id_slot: expected a whole number from -1", 3},
    {"\"seed\":1.5", "seed: expected a whole number from -2^63 to 2^64 - 2, found 1.5", 3},
    {"\"seed\":18446744073709551616", "seed: expected a whole number", 3},
    {"\"seed\":18446744073709551615", "seed: expected a whole number", 3}, // told as -1
    {"\"seed\":-9223372036854775809", "seed: expected a whole number", 3},
    {"\"seed\":\"1\"", "seed: expected a whole number", 3},
    {"\"seed\":1e300", "seed: expected a whole number", 3},
    {"\"stream_options\":true", "stream_options: expected an object", 3},
    {"\"stream_options\":{\"include_usage\":1}", "stream_options.include_usage: expected true", 3},
    {"\"reasoning_format\":\"deepseek-legacy\"",
     "reasoning_format: expected auto, none or deepseek, found", 3},
    {"\"reasoning_format\":1", "reasoning_format: expected auto", 3},
    {"\"response_fields\":5", "response_fields: expected a list of strings, found 5", 3},
    {"\"response_fields\":[\"a\",5]", "response_fields[1]: expected a string, found 5", 3},
    {"\"prediction\":\"x\"", "prediction: expected an object of \"type\": \"content\"", 3},
    {"\"prediction\":{\"type\":\"other\",\"content\":\"\"}", "prediction: expected an object", 3},
    {"\"prediction\":{\"type\":\"content\"}", "prediction.content: expected a string or a list", 3},
    {"\"prediction\":{\"type\":\"content\",\"content\":[{\"type\":\"image\"}]}",
     "prediction.content[0]: expected {\"type\": \"text\"", 3},
    // What each API has alone.
    {"\"echo\":1", "echo: expected true or false", 1},
    {"\"logprobs\":true", "logprobs: expected a whole number from 0 to 20, found true", 1},
    {"\"logprobs\":21", "logprobs: expected a whole number from 0 to 20", 1},
    {"\"best_of\":2", "best_of: answers are not compared here: expected 1, as n", 1},
    {"\"best_of\":\"2\"", "best_of: expected a whole number", 1},
    {"\"best_of\":18446744073709551615", "best_of: answers are not compared here", 1},
    {"\"best_of\":-1e30", "best_of: answers are not compared here", 1},
    {"\"suffix\":\"x\"", "suffix: a text is not filled in here", 1},
    {"\"logprobs\":1", "logprobs: expected true or false, found 1", 2},
    {"\"top_logprobs\":1", "top_logprobs: expected \"logprobs\": true beside it", 2},
    {"\"logprobs\":true,\"top_logprobs\":21", "top_logprobs: expected a whole number from 0 to 20",
     2},
    {"\"tools\":5", "tools: expected a list, found 5", 2},
    {"\"tools\":[5]", "tools[0]: expected an object", 2},
    {"\"tools\":[{\"type\":\"web_search\"}]", "tools[0].type: expected function", 2},
    {"\"tools\":[{\"type\":\"function\",\"function\":{}}]",
     "tools[0].function.name: expected a name", 2},
    {"\"tool_choice\":5", "tool_choice: expected auto or none, found 5", 2},
    {"\"tool_choice\":\"maybe\"", "tool_choice: expected auto or none", 2},
    {"\"chat_template_kwargs\":5", "chat_template_kwargs: expected an object", 2},
    {"\"add_generation_prompt\":5", "add_generation_prompt: expected true or false", 2},
    // What would change the text and is not there.
    {"\"grammar\":\"root ::= x\"", "grammar: answers cannot be constrained here", 3},
    {"\"json_schema\":{}", "json_schema: answers cannot be constrained here", 3},
    {"\"response_format\":{\"type\":\"json_object\"}", "response_format.type: answers cannot", 3},
    {"\"response_format\":{\"type\":\"json_schema\"}", "response_format.type: answers cannot", 3},
    {"\"response_format\":{\"type\":\"xml\"}", "response_format.type: expected text, found", 3},
    {"\"response_format\":{}", "response_format.type: expected a string, found nothing", 3},
    {"\"response_format\":\"text\"", "response_format: expected an object", 3},
    {"\"tool_choice\":\"required\"", "tool_choice: a call cannot be forced here", 2},
    {"\"tool_choice\":{\"type\":\"function\",\"function\":{\"name\":\"f\"}}",
     "tool_choice: a call cannot be forced here", 2},
    {"\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"required\",\"tools\":[]}",
     "tool_choice: a call cannot be forced here", 2},
    {"\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{\"type\":"
     "\"function\","
     "\"name\":\"g\"}]}",
     "tool_choice.tools[0].name: expected one of the tools, found \"g\"", 2},
    {"\"tool_choice\":{\"type\":\"allowed_tools\",\"mode\":\"auto\"}",
     "tool_choice.tools: expected a list", 2},
    {"\"function_call\":{\"name\":\"f\"}", "function_call: a call cannot be forced here", 2},
    {"\"guided_json\":{\"type\":\"object\"}", "guided_json: answers cannot be constrained", 3},
    {"\"guided_regex\":\"a+\"", "guided_regex: answers cannot be constrained", 3},
    {"\"guided_choice\":[\"a\"]", "guided_choice: answers cannot be constrained", 3},
    {"\"guided_grammar\":\"x\"", "guided_grammar: answers cannot be constrained", 3},
    {"\"structured_outputs\":{\"regex\":\"a\"}", "structured_outputs: answers cannot be", 3},
    {"\"structural_tag\":\"x\"", "structural_tag: answers cannot be constrained", 3},
    {"\"regex\":\"a\"", "regex: answers cannot be constrained", 3},
    {"\"ebnf\":\"a\"", "ebnf: answers cannot be constrained", 3},
    {"\"min_tokens\":5", "min_tokens: an answer ends where", 3},
    {"\"min_tokens\":\"5\"", "min_tokens: expected a number", 3},
    {"\"length_penalty\":0.5", "length_penalty: there is no search by beams", 3},
    {"\"use_beam_search\":true", "use_beam_search: there is no search by beams", 3},
    {"\"bad_words\":[\"a\"]", "bad_words: ", 3},
    {"\"allowed_token_ids\":[3]", "allowed_token_ids: ", 3},
    {"\"include_stop_str_in_output\":true", "include_stop_str_in_output: ", 3},
    {"\"logits_processors\":[\"a\"]", "logits_processors: ", 3},
    {"\"truncate_prompt_tokens\":3", "truncate_prompt_tokens: prompts are not cut here", 3},
    {"\"skip_special_tokens\":false", "skip_special_tokens: ", 3},
    {"\"chat_template\":\"x\"", "chat_template: the template is the server's", 3},
    {"\"echo\":true", "echo: a conversation is not repeated", 2},
    {"\"repetition_penalty\":0", "repetition_penalty: expected a number from 0.01", 3},
    {"\"stop_token_ids\":3", "stop_token_ids: expected a list", 3},
    {"\"stop_token_ids\":[1,-1]", "stop_token_ids[1]: expected a token id below", 3},
    {"\"stop_token_ids\":[99999999]", "stop_token_ids[0]: expected a token id below", 3},
    {"\"mirostat\":2", "mirostat: this sampler is not there", 3},
    {"\"dry_multiplier\":0.8", "dry_multiplier: this sampler is not there", 3},
    {"\"xtc_probability\":0.5", "xtc_probability: this sampler is not there", 3},
    {"\"typical_p\":0.9", "typical_p: this sampler is not there", 3},
    {"\"top_n_sigma\":1", "top_n_sigma: this sampler is not there", 3},
    {"\"dynatemp_range\":1", "dynatemp_range: this sampler is not there", 3},
    {"\"mirostat\":\"on\"", "mirostat: expected a number", 3},
    {"\"samplers\":[\"top_p\",\"top_k\"]", "samplers: they go in the order penalties, top_k", 3},
    {"\"samplers\":[\"top_k\",\"top_k\"]", "samplers: they go in the order", 3},
    {"\"samplers\":[\"penalties\",\"top_k\",\"top_p\",\"temperature\",\"min_p\"]", "samplers: ", 3},
    {"\"samplers\":\"tekpm\"", "samplers: ", 3},
    {"\"samplers\":5", "samplers: expected a list, found 5", 3},
    {"\"functions\":[{\"name\":\"f\"}]", "functions: expected tools", 3},
    {"\"mcp_servers\":[{}]", "mcp_servers: none is asked", 3},
    {"\"modalities\":[\"text\",\"audio\"]", "modalities[1]: expected text, found \"audio\"", 3},
    {"\"modalities\":\"text\"", "modalities: expected a list", 3},
    {"\"t_max_predict_ms\":\"5\"", "t_max_predict_ms: expected a number", 3},
    {"\"n_indent\":-1", "n_indent: expected a whole number from 0", 3},
    {"\"min_keep\":2", "min_keep: this sampler is not there", 3},
    {"\"parallel_tool_calls\":1", "parallel_tool_calls: expected true or false", 2},
    {"\"lora\":[{\"id\":0,\"scale\":1}]", "lora: there are no adapters here", 3},
    {"\"post_sampling_probs\":1", "post_sampling_probs: expected true or false", 3},
    {"\"post_sampling_probs\":true,\"echo\":true,\"logprobs\":1",
     "post_sampling_probs: expected no \"echo\"", 1},
};

// As llama.vim and llama.vscode ask /infill, and what a list of samplers leaves out.
static void samplers_that_are_left_out_are_off(void **state) {
    (void)state;
    take(text_with("\"n_indent\":4,\"top_k\":40,\"top_p\":0.9,\"samplers\":[\"top_k\",\"top_p\","
                   "\"infill\"],\"cache_prompt\":true,\"t_max_prompt_ms\":500,"
                   "\"t_max_predict_ms\":1500,\"repeat_penalty\":1.1"));
    assert_true(r.indent == 4 && r.line_ms == 1500);
    assert_true(r.sampling.top_k == 40 && r.sampling.top_p == 0.9f);
    assert_true(r.sampling.min_p == 0 && r.sampling.repeat_penalty == 1);
    assert_true(r.sampling.temperature == 0); // in the place of the sampler for infilling
    fr_api_close(&r);
    take(text_with("\"samplers\":\"p\",\"temperature\":0.1"));
    assert_true(r.sampling.top_k == 0 && r.sampling.temperature == 1);
    fr_api_close(&r);
    take(text_with("\"samplers\":[],\"temperature\":0.5,\"min_keep\":1"));
    assert_true(r.sampling.temperature == 0.5f);
    fr_api_close(&r);
}

static void wrong_fields_are_named_by_their_path(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (wrong[i].where & 1) refuse(text_with(wrong[i].field), wrong[i].says);
        if (wrong[i].where & 2) refuse(chat_with(wrong[i].field), wrong[i].says);
    }
    // Samplers that are turned off are what clients send anyway.
    take(chat_with("\"mirostat\":0,\"dry_multiplier\":0.0,\"xtc_probability\":0,\"typical_p\":1,"
                   "\"top_n_sigma\":-1,\"dynatemp_range\":0,\"lora\":[],\"grammar\":\"\","
                   "\"response_format\":{\"type\":\"text\"},\"tool_choice\":\"auto\","
                   "\"post_sampling_probs\":false,\"samplers\":[\"penalties\",\"dry\",\"top_k\","
                   "\"typ_p\",\"top_p\",\"min_p\",\"xtc\",\"temperature\"],\"functions\":[],"
                   "\"modalities\":[\"text\"],\"t_max_predict_ms\":-1,\"mcp_servers\":[],"
                   "\"function_call\":\"auto\",\"min_tokens\":0,\"length_penalty\":1.0,"
                   "\"use_beam_search\":false,\"bad_words\":[],\"allowed_token_ids\":null,"
                   "\"include_stop_str_in_output\":false,\"skip_special_tokens\":true,"
                   "\"truncate_prompt_tokens\":-1,\"structured_outputs\":{\"json\":null},"
                   "\"guided_choice\":[],\"echo\":false,\"stop_token_ids\":[]"));
    assert_true(r.several_calls);
    fr_api_close(&r);
    take(chat_with("\"samplers\":\"edskypmxt\",\"parallel_tool_calls\":false,\"n_probs\":3"));
    assert_true(!r.several_calls && r.logprobs && r.top_logprobs == 3);
    fr_api_close(&r);
    char deep[1024] = "\"other\":"; // nobody reads it
    memset(deep + strlen(deep), '[', 200);
    memset(deep + strlen(deep), ']', 200);
    take(chat_with(deep));
    fr_api_close(&r);
}

static void bodies_that_are_none_are_said(void **state) {
    (void)state;
    refuse("", "JSON, line 1");
    refuse("{", "JSON, line 1");
    refuse("[]", "the body: expected a JSON object");
    refuse("7", "the body: expected a JSON object");
    refuse("{}", "messages: expected these, or a \"prompt\"");
    refuse("{\"prompt\":\"a\",\"messages\":[]}", "prompt: expected no \"messages\" beside it");
    refuse("{\"messages\":5}", "messages: expected a list");
    refuse("{\"messages\":{}}", "messages: expected a list");
    refuse("{\"messages\":[{\"role\":5}]}", "messages[0].role: expected a string");
    refuse("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"user\",\"content\":"
           "[{\"type\":\"text\",\"text\":\"b\"},{\"type\":\"image_url\"}]}]}",
           "messages[1].content[1]: expected {\"type\": \"text\"");
    char deep[1024] = "{\"prompt\":";
    memset(deep + strlen(deep), '[', 300);
    memset(deep + strlen(deep), ']', 300);
    strcat(deep, "}");
    refuse(deep, "JSON: nested deeper than");
    // An endpoint that knows what it wants.
    const fr_api_defaults usual = fr_api_usual(1);
    const char *text = text_with("");
    assert_int_equal(fr_api_parse(&r, FR_API_CHAT, text, strlen(text), &usual, &err), FR_EARG);
    assert_non_null(strstr(err.text, "messages: expected"));
    fr_api_close(&r);
}

static void expect_ids(int prompt, const char *text) {
    const size_t n = strlen(text);
    fr_buffer bytes = {0};
    assert_int_equal(
        fr_tokenizer_decode(tokenizer, r.prompt[prompt].data, r.prompt[prompt].n, &bytes, &err),
        FR_OK);
    if (bytes.n != n || memcmp(bytes.data, text, n))
        fail_msg("'%.*s', not '%s'", (int)bytes.n, bytes.data, text);
    fr_buffer_free(&bytes);
}

static void prompts_come_in_every_form(void **state) {
    (void)state;
    take("{\"prompt\":\"the end\"}");
    assert_int_equal(r.n_prompts, 1);
    expect_ids(0, "the end");
    fr_api_close(&r);
    take("{\"prompt\":[116,104,101]}");
    assert_int_equal(r.n_prompts, 1);
    assert_int_equal(r.prompt[0].n, 3);
    expect_ids(0, "the");
    fr_api_close(&r);
    take("{\"prompt\":[116,\"he end\",33]}");
    assert_int_equal(r.n_prompts, 1);
    expect_ids(0, "the end!");
    fr_api_close(&r);
    take("{\"prompt\":[\"a\",[98,99],[\"d\",101],{\"prompt_string\":\"f\"}]}");
    assert_int_equal(r.n_prompts, 4);
    expect_ids(0, "a");
    expect_ids(1, "bc");
    expect_ids(2, "de");
    expect_ids(3, "f");
    fr_api_close(&r);
    take("{\"prompt\":{\"prompt_string\":\"f\"}}");
    expect_ids(0, "f");
    fr_api_close(&r);
    // Control tokens are read in prompts, and stay text in messages.
    take("{\"prompt\":\"<|im_end|>\"}");
    assert_int_equal(r.prompt[0].n, 1);
    fr_api_close(&r);
    take("{\"messages\":[{\"role\":\"user\",\"content\":\"<|im_end|>\"}]}");
    int ends = 0;
    for (size_t i = 0; i < r.prompt[0].n; i++)
        ends += fr_token_is_end(tokenizer, r.prompt[0].data[i]);
    assert_int_equal(ends, 1); // the template's
    fr_api_close(&r);
    refuse("{\"prompt\":\"\"}", "prompt: expected at least one token");
    refuse("{\"prompt\":[]}", "prompt: expected 1 to 256 of them, found 0");
    refuse("{\"prompt\":[\"a\",[]]}", "prompt[1]: expected at least one token");
    refuse("{\"prompt\":5}", "prompt: expected a string, a list of token ids, or a list of these");
    refuse("{\"prompt\":[1,-1]}", "prompt[1]: expected a token id below ");
    refuse("{\"prompt\":[[1,2],[3,1.5]]}", "prompt[1][1]: expected a token id below ");
    refuse("{\"prompt\":[1,true]}", "prompt[1]: expected a token id below ");
    refuse("{\"prompt\":[99999999999999999999]}", "prompt[0]: expected a token id below ");
    refuse("{\"prompt\":[\"a\",null]}", "prompt[1]: expected a string");
    refuse("{\"prompt\":{}}", "prompt: expected a string");
    refuse("{\"prompt\":{\"prompt_string\":\"a\",\"multimodal_data\":[\"x\"]}}",
           "prompt.multimodal_data: only text is taken here");
    fr_buffer text = {0};
    take("{\"prompt\":[\"a b\",[99,100]],\"echo\":true}");
    assert_int_equal(fr_api_prompt_text(&r, &model, 0, &text, &err), FR_OK);
    assert_int_equal(fr_api_prompt_text(&r, &model, 1, &text, &err), FR_OK);
    assert_string_equal(text.data, "a bcd");
    fr_buffer_free(&text);
    fr_api_close(&r);
}

// A last message of the assistant begins the answer, without the end of its turn.
static void a_last_message_of_the_assistant_is_continued(void **state) {
    (void)state;
#define SAID                                                                                       \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":"
    static const char expected[] = "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nonce";
    take(SAID "\"once\"}]}");
    expect_ids(0, expected);
    fr_api_close(&r);
    take(SAID "\"once\"}],\"continue_final_message\":true,\"add_generation_prompt\":false}");
    expect_ids(0, expected);
    fr_api_close(&r);
    refuse(SAID "\"once\"}],\"continue_final_message\":true,\"add_generation_prompt\":true}",
           "continue_final_message: ");
    refuse(SAID "\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}", "messages: ");
    take(SAID "[{\"type\":\"text\",\"text\":\"on\"},{\"type\":\"text\",\"text\":\"ce\"}]}]}");
    expect_ids(0, "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\non\n\nce");
    fr_api_close(&r);
    refuse(SAID "3}]}", "messages[1].content: expected a string");
    refuse(SAID "[{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image_url\",\"text\":\"b\"}]}]}",
           "messages[1].content[1]: expected {\"type\": \"text\"");
    refuse(SAID "[{\"type\":\"text\",\"text\":4}]}]}", "messages[1].content[0].text: expected ");
    refuse(SAID "[{\"text\":\"a\"}]}]}", "messages[1].content[0]: expected ");
    refuse(SAID "\"\",\"reasoning_content\":4}]}",
           "messages[1].reasoning_content: expected a string");
#undef SAID
    // A call, by its older name, ends a turn.
    take("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\","
         "\"function_call\":{\"name\":\"f\",\"arguments\":\"{}\"}}]}");
    expect_ids(0, "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<tool_call>\n{\"name\": "
                  "\"f\", \"arguments\": {}}\n</tool_call><|im_end|>\n<|im_start|>assistant\n");
    fr_api_close(&r);
    take("{\"messages\":[{\"role\":\"assistant\",\"content\":\"once\"}]}");
    expect_ids(0, "<|im_start|>assistant\nonce");
    fr_api_close(&r);
}

static void messages_go_through_the_template(void **state) {
    (void)state;
    take("{\"messages\":[{\"role\":\"system\",\"content\":\"be brief\"},{\"role\":\"user\","
         "\"content\":[{\"type\":\"text\",\"text\":\"hi\"}]}]}");
    expect_ids(0, "<|im_start|>system\nbe brief<|im_end|>\n<|im_start|>user\nhi<|im_end|>\n"
                  "<|im_start|>assistant\n");
    fr_api_close(&r);
    // This template knows none, so they are told in the system's message.
    take("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{\"type\":\"function\","
         "\"function\":{\"name\":\"f\"}}]}");
    assert_true(r.tools && r.prompt[0].n > 100);
    fr_api_close(&r);
    // Tools that may not be called are not shown.
    take("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{\"type\":\"function\","
         "\"function\":{\"name\":\"f\"}}],\"tool_choice\":\"none\"}");
    assert_false(r.tools);
    fr_api_close(&r);
    fr_chat_template own = {0}, *const usual = &chat;
    static const char text[] = "{{ tools }}{{ effort }}{% for m in messages %}{{ m.content }}"
                               "{% endfor %}{{ add_generation_prompt }}";
    assert_int_equal(fr_chat_open(&own, text, sizeof text - 1, &err), FR_OK);
    model.chat = &own;
    take("{\"messages\":[{\"role\":\"user\",\"content\":\"a\"}],\"tools\":[{\"type\":\"function\","
         "\"function\":{\"name\":\"x\"}}],"
         "\"chat_template_kwargs\":{\"effort\":\"low\"}}");
    assert_true(r.tools);
    expect_ids(0, "[{'type': 'function', 'function': {'name': 'x'}}]lowaTrue");
    fr_api_close(&r);
    fr_chat_close(&own);
    static const char refuses[] = "{{ raise_exception('no such role') }}";
    if (!fr_chat_open(&own, refuses, sizeof refuses - 1, &err)) refuse(chat_with(""), "messages: ");
    fr_chat_close(&own);
    refuse(chat_with(""), "messages: no chat template");
    model.chat = usual;
}

// vLLM's names for what is here.
static void vllms_names_are_known(void **state) {
    (void)state;
    take(text_with("\"repetition_penalty\":1.5,\"stop_token_ids\":[3,5]"));
    assert_true(r.sampling.repeat_penalty == 1.5f && r.sampling.repeat_last_n == -1);
    assert_true(r.stop_tokens.n == 2 && r.stop_tokens.data[0] == 3 && r.stop_tokens.data[1] == 5);
    fr_api_close(&r);
    take(text_with("\"repetition_penalty\":1.5,\"repeat_last_n\":7"));
    assert_true(r.sampling.repeat_penalty == 1.5f && r.sampling.repeat_last_n == 7);
    fr_api_close(&r);
    take(text_with("\"repetition_penalty\":1.5,\"repeat_penalty\":2"));
    assert_true(r.sampling.repeat_penalty == 2 && r.sampling.repeat_last_n == 64);
    fr_api_close(&r);
}

#define TOOL(name) "{\"type\":\"function\",\"function\":{\"name\":\"" name "\"}}"

// What forces nothing is taken; the template is shown the tools that are allowed, and no others.
static void tools_may_be_allowed(void **state) {
    (void)state;
    static const struct {
        const char *choice, *shown;
    } cases[] = {
        {"{\"type\":\"auto\"}", "fg"},
        {"{\"type\":\"none\"}", ""},
        {"{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{\"type\":\"function\",\"name\":"
         "\"g\"}]}",
         "g"},
        {"{\"type\":\"allowed_tools\",\"allowed_tools\":{\"mode\":\"auto\",\"tools\":[" TOOL(
             "f") "]}}",
         "f"},
        {"{\"type\":\"allowed_tools\",\"tools\":[" TOOL("g") "," TOOL("f") "," TOOL("g") "]}",
         "fg"},
        {"{\"type\":\"allowed_tools\",\"mode\":\"auto\",\"tools\":[{\"type\":\"web_search\"}]}",
         ""},
    };
    fr_chat_template own = {0};
    const fr_chat_template *const usual = model.chat;
    static const char text[] = "{% for t in tools or [] %}{{ t.function.name }}{% endfor %}"
                               "{% for m in messages %}{{ m.content }}{% endfor %}";
    assert_int_equal(fr_chat_open(&own, text, sizeof text - 1, &err), FR_OK);
    model.chat = &own;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char field[400], right[16];
        snprintf(field, sizeof field, "\"tools\":[" TOOL("f") "," TOOL("g") "],\"tool_choice\":%s",
                 cases[i].choice);
        take(chat_with(field));
        snprintf(right, sizeof right, "%sthe end", cases[i].shown);
        expect_ids(0, right);
        assert_int_equal(r.tools, *cases[i].shown != 0);
        fr_api_close(&r);
    }
    fr_chat_close(&own);
    model.chat = usual;
}

// Which also says in what form arguments are handed to it.
static void requests_with_tools_have_a_template_of_their_own(void **state) {
    (void)state;
    static const char tools[] = "{% for t in tools %}{{ t.function.name }}{% endfor %}"
                                "{% for m in messages %}{{ m.content or '' }}"
                                "{% for c in m.tool_calls %}{{ c.function.arguments | tojson }}"
                                "{% endfor %}{% endfor %}";
    fr_chat_template own = {0};
    assert_int_equal(fr_chat_open(&own, tools, sizeof tools - 1, &err), FR_OK);
    chat.for_tools = &own;
#define CALLED                                                                                     \
    "{\"messages\":[{\"role\":\"user\",\"content\":\"a\"},{\"role\":\"assistant\",\"tool_calls\":" \
    "[{"                                                                                           \
    "\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"x\\\": 1}\"}}]}],\"tools\":[{\"type\":"     \
    "\"function\",\"function\":{\"name\":\"f\"}}]"
    take(CALLED "}");
    expect_ids(0, "fa{\"x\": 1}");
    fr_api_close(&r);
    take(chat_with("\"tools\":[]"));
    expect_ids(0, "<|im_start|>user\nthe end<|im_end|>\n<|im_start|>assistant\n");
    fr_api_close(&r);
#undef CALLED
    chat.for_tools = NULL;
    fr_chat_close(&own);
}

static void a_prompt_may_begin_thinking(void **state) {
    (void)state;
    static const char text[] = "{% for m in messages %}{{ m.content }}{% endfor %}<think>\n\n";
    static const char *const cases[][2] = {
        {"", "the end<think>\n"}, {"\"enable_thinking\":false", "the end<think>\n</think>"}};
    fr_chat_template own = {0};
    const fr_chat_template *usual = model.chat;
    assert_int_equal(fr_chat_open(&own, text, sizeof text - 1, &err), FR_OK);
    model.chat = &own;
    for (int i = 0; i < 2; i++) {
        take(chat_with(cases[i][0]));
        expect_ids(0, cases[i][1]);
        assert_int_equal(r.thinks, i == 0);
        fr_api_close(&r);
    }
    fr_chat_close(&own);
    model.chat = usual;
}

// The marks are those of the template.
static void thinking_has_the_templates_marks(void **state) {
    (void)state;
    const fr_thinking_form *form;
    const fr_chat_template *usual = model.chat;
    for (size_t i = 0; (form = fr_thinking_form_at(i)); i++) {
        fr_chat_template own = {0};
        char text[128], wanted[128];
        assert_non_null(thinking_template(i)); // each row has one
        snprintf(text, sizeof text, "{{ messages[0].content }}%s", thinking_template(i));
        assert_int_equal(fr_chat_open(&own, text, strlen(text), &err), FR_OK);
        model.chat = &own;
        take(chat_with(""));
        snprintf(wanted, sizeof wanted, "the end%s", form->open);
        expect_ids(0, wanted);
        assert_true(r.thinks);
        fr_api_close(&r);
        take(chat_with("\"enable_thinking\":false"));
        snprintf(wanted, sizeof wanted, "the end%s%s", form->open, form->close);
        expect_ids(0, wanted);
        assert_false(r.thinks);
        fr_api_close(&r);
        take("{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\","
             "\"reasoning_content\":\"a\",\"content\":\"b\"}]}");
        snprintf(wanted, sizeof wanted, "q%s%sa%s%s%sb", form->open, form->before, form->before,
                 form->close, form->after);
        expect_ids(0, wanted);
        assert_false(r.thinks);
        fr_api_close(&r);
        fr_chat_close(&own);
    }
    model.chat = usual;
}

// An answer that was cut while it thought goes on so, also where the template begins thinking itself.
static void thinking_that_is_not_finished_is_continued(void **state) {
    (void)state;
    static const struct {
        const char *last, *prompt, *begun; // begun: behind a prompt that has begun thinking
        bool thinks;
    } cases[] = {
        {"\"content\":\"<think>\\nalpha\"", "<think>\nalpha", "<think>\nalpha", true},
        {"\"content\":\"<think>\\na</think>b\"", "<think>\na</think>b", "<think>\na</think>b",
         false},
        {"\"content\":\"say <think>\"", "say <think>", "<think>\n</think>say <think>", false},
        {"\"reasoning_content\":\"alpha\"", "<think>\nalpha", "<think>\nalpha", true},
        {"\"reasoning_content\":\"\\na\\n\",\"content\":\"b\"", "<think>\na\n</think>\n\nb",
         "<think>\na\n</think>\n\nb", false},
        {"\"reasoning_content\":\"a\",\"content\":\"\"", "<think>\na", "<think>\na", true},
    };
    static const char *const templates[] = {"{{ messages[0].content }};",
                                            "{{ messages[0].content }};<think>\n\n"};
    const fr_chat_template *usual = model.chat;
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        fr_chat_template own = {0};
        char body[256], expected[256];
        const bool opens = i % 2;
        assert_int_equal(fr_chat_open(&own, templates[opens], strlen(templates[opens]), &err), 0);
        model.chat = &own;
        snprintf(
            body, sizeof body,
            "{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\",%s}]}",
            cases[i / 2].last);
        snprintf(expected, sizeof expected, "q;%s",
                 opens ? cases[i / 2].begun : cases[i / 2].prompt);
        take(body);
        expect_ids(0, expected);
        assert_int_equal(r.thinks, cases[i / 2].thinks);
        fr_api_close(&r);
        fr_chat_close(&own);
    }
    model.chat = usual;
    take("{\"messages\":[{\"role\":\"assistant\",\"reasoning_content\":\"a\",\"content\":\"b\"}],"
         "\"enable_thinking\":false}");
    expect_ids(0, "<|im_start|>assistant\nb");
    fr_api_close(&r);
}

// As the templates of each form write the same turn in a conversation.
static void an_answer_goes_on_after_the_template_s_own_thinking(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        // what a template of the form has, the turn
        {"<think>", "<think>\na\n</think>\n\nb"},
        {"<seed:think>", "<seed:think>a</seed:think>\nb"},
        {"[THINK]", "[THINK]a[/THINK]b"},
        {"<|channel>thought", "<|channel>thought\na\n<channel|>b"},
        {":opensource", "<think:opensource>a</think:opensource>b"},
        {"<|START_THINKING|>", "<|START_THINKING|>a<|END_THINKING|>b"},
    };
    const fr_chat_template *usual = model.chat;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[128];
        fr_chat_template own = {0};
        const int n =
            snprintf(text, sizeof text, "{# %s #}{{ messages[0].content }};", cases[i][0]);
        assert_int_equal(fr_chat_open(&own, text, (size_t)n, &err), FR_OK);
        model.chat = &own;
        take("{\"messages\":[{\"role\":\"user\",\"content\":\"q\"},{\"role\":\"assistant\","
             "\"reasoning_content\":\"a\",\"content\":\"b\"}]}");
        snprintf(text, sizeof text, "q;%s", cases[i][1]);
        expect_ids(0, text);
        fr_api_close(&r);
        fr_chat_close(&own);
    }
    model.chat = usual;
}

// What OpenAI's chats say by other names than templates do.
static void templates_find_roles_and_effort(void **state) {
    (void)state;
    static const char text[] = "{{ reasoning_effort }} {{ enable_thinking }} {% for m in messages "
                               "%}{{ m.role }}: {{ m.content }};{% endfor %}";
    static const char *const cases[][2] = {
        {"", " True user: the end;"},
        {"\"reasoning_effort\":\"low\"", "low True user: the end;"},
        {"\"reasoning_effort\":\"none\"", "none False user: the end;"},
        {"\"reasoning_effort\":\"none\",\"enable_thinking\":true", "none True user: the end;"},
        {"\"reasoning_effort\":\"low\",\"chat_template_kwargs\":{\"reasoning_effort\":\"high\"}",
         "high True user: the end;"}};
    fr_chat_template own = {0};
    const fr_chat_template *usual = model.chat;
    assert_int_equal(fr_chat_open(&own, text, sizeof text - 1, &err), FR_OK);
    model.chat = &own;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        take(chat_with(cases[i][0]));
        expect_ids(0, cases[i][1]);
        fr_api_close(&r);
    }
    take("{\"messages\":[{\"role\":\"developer\",\"content\":\"be brief\"},{\"role\":\"user\","
         "\"content\":\"hi\"}]}");
    expect_ids(0, " True system: be brief;user: hi;");
    fr_api_close(&r);
    refuse(chat_with("\"reasoning_effort\":3"), "reasoning_effort: expected a string, found 3");
    fr_chat_close(&own);
    model.chat = usual;
}

static void predictions_are_read(void **state) {
    (void)state;
    take(chat_with("\"prediction\":{\"type\":\"content\",\"content\":\"the end\"}"));
    const size_t n = r.prediction.n;
    const fr_request q = ask(0);
    assert_true(n > 0 && q.n_prediction == (int)n && q.prediction == r.prediction.data);
    fr_api_close(&r);
    take(text_with("\"prediction\":{\"type\":\"content\",\"content\":[{\"type\":\"text\",\"text\":"
                   "\"the\"},{\"type\":\"text\",\"text\":\" end\"}]}"));
    assert_int_equal(r.prediction.n, n);
    fr_api_close(&r);
}

// What is asked of the engine is always in its ranges, at the edges of the API's too.
static void edges_are_in_the_engines_ranges(void **state) {
    (void)state;
    static const char *const edges[] = {
        "\"temperature\":0,\"top_p\":0,\"min_p\":0,\"top_k\":-1,\"repeat_last_n\":-1",
        "\"temperature\":100,\"top_p\":1,\"min_p\":1,\"top_k\":2147483647,"
        "\"repeat_last_n\":2147483647,\"repeat_penalty\":100,\"frequency_penalty\":2,"
        "\"presence_penalty\":2",
        "\"repeat_penalty\":0.01,\"frequency_penalty\":-2,\"presence_penalty\":-2,"
        "\"logit_bias\":[[0,100],[0,-100],[1,false]]"};
    for (size_t i = 0; i < sizeof edges / sizeof *edges; i++) {
        take(text_with(edges[i]));
        const fr_sampling s = *ask(0).sampling;
        if (fr_sampler_check(&s, model.n_vocab, &err)) fail_msg("%s: %s", edges[i], err.text);
        fr_api_close(&r);
    }
}

static void logprobs_have_three_shapes(void **state) {
    (void)state;
    // "é" in two tokens, and a token that is not among its likeliest.
    static const int32_t ids[] = {0xc3, 0xa9, 'x'};
    static const fr_logprobs scores[] = {
        {.logprob = -0.5f, .n_top = 2, .top = {{0xc3, -0.5f}, {'a', -1}}},
        {.logprob = -0.25f, .n_top = 2, .top = {{0xa9, -0.25f}, {'b', -2}}},
        {.logprob = -INFINITY, .n_top = 2, .top = {{'y', -0.125f}, {'z', -3}}}};
    fr_api_scored s = {.tokenizer = tokenizer, .token = ids, .score = scores, .n = 3, .n_top = 1};
    static const char *const expected[] = {
        "{\"content\":[{\"token\":\"\\ufffd\",\"logprob\":-0.5,\"bytes\":[195],\"top_logprobs\":[{"
        "\"token\":\"\\ufffd\",\"logprob\":-0.5,\"bytes\":[195]}]},{\"token\":\"\\ufffd\","
        "\"logprob\":-0.25,"
        "\"bytes\":[169],\"top_logprobs\":[{\"token\":\"\\ufffd\",\"logprob\":-0.25,\"bytes\":[169]"
        "}]},{"
        "\"token\":\"x\",\"logprob\":-9999.0,\"bytes\":[120],\"top_logprobs\":[{\"token\":\"y\","
        "\"logprob\":"
        "-0.125,\"bytes\":[121]}]}],\"refusal\":null}",
        "{\"tokens\":[\"\\ufffd\",\"\\ufffd\",\"x\"],\"token_logprobs\":[-0.5,-0.25,-9999.0],"
        "\"top_logprobs\":[{\"\\ufffd\":-0.5},{\"\\ufffd\":-0.25},{\"x\":-9999.0,\"y\":-0.125}],"
        "\"text_offset\":[0,1,1]}",
        "[{\"token\":\"x\",\"logprob\":-9999.0,\"bytes\":[120],\"id\":120,\"top_logprobs\":[{"
        "\"token\":"
        "\"y\",\"logprob\":-0.125,\"bytes\":[121],\"id\":121}]}]"};
    for (int i = 0; i < 3; i++) {
        json_t *found;
        if (i == 2) s.token += 2, s.score += 2, s.n = 1;
        found = i == 0   ? fr_api_chat_logprobs(&s)
                : i == 1 ? fr_api_text_logprobs(&s)
                         : fr_api_llama_logprobs(&s);
        json_t *wanted = json_loads(expected[i], 0, NULL);
        assert_non_null(wanted);
        char *text = json_dumps(found, JSON_COMPACT);
        if (!json_equal(found, wanted)) fail_msg("%d: %s", i, text);
        free(text);
        json_decref(wanted);
        json_decref(found);
    }
    s = (fr_api_scored){
        .tokenizer = tokenizer, .token = ids, .score = scores, .n = 3, .unscored = true};
    json_t *found = fr_api_text_logprobs(&s);
    assert_true(json_is_null(json_array_get(json_object_get(found, "token_logprobs"), 0)));
    assert_true(json_is_null(json_array_get(json_object_get(found, "top_logprobs"), 0)));
    json_decref(found);
}

// Each byte is a token here: those between the marks, and the marks.
static void tokens_of_thinking_are_counted(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool open;
        int n;
    } cases[] = {{"<think>hm \xc3\xa9</think>\n\nTwo.", false, 20},
                 {"h\xc3\xa9 x</think>\n\nTwo.", true, 13},
                 {"never ends", true, 10},
                 {"Two <think>x</think>", false, 0},
                 {"", true, 0}};
    const fr_ids none = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fr_api_answer a;
        int32_t ids[64];
        const int n = (int)strlen(cases[i].text);
        for (int k = 0; k < n; k++)
            ids[k] = (uint8_t)cases[i].text[k];
        fr_api_answer_open(&a, true, cases[i].open, false, NULL);
        assert_int_equal(fr_api_answer_push(&a, cases[i].text, (size_t)n, &err), FR_OK);
        assert_int_equal(fr_api_answer_finish(&a, &err), FR_OK);
        assert_int_equal(fr_api_thought_tokens(&a, tokenizer, &none, ids, n), cases[i].n);
        fr_api_answer_close(&a);
    }
}

static void probabilities_of_a_draw_are_no_logarithms(void **state) {
    (void)state;
    static const int32_t ids[] = {'x'};
    static const fr_logprobs scores[] = {{.logprob = 0, .n_top = 1, .top = {{'x', 0}}}};
    const fr_api_scored s = {
        .tokenizer = tokenizer, .token = ids, .score = scores, .n = 1, .n_top = 5, .drawn = true};
    json_t *found = fr_api_llama_logprobs(&s);
    json_t *wanted = json_loads("[{\"token\":\"x\",\"prob\":1.0,\"bytes\":[120],\"id\":120,"
                                "\"top_probs\":[{\"token\":\"x\",\"prob\":1.0,\"bytes\":[120],"
                                "\"id\":120}]}]",
                                0, NULL);
    assert_true(wanted && json_equal(found, wanted));
    json_decref(wanted);
    json_decref(found);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_silent_body_gets_a_servers_defaults),
        cmocka_unit_test(null_and_unknown_fields_change_nothing),
        cmocka_unit_test(every_plain_field_arrives),
        cmocka_unit_test(probabilities_may_be_those_drawn_with),
        cmocka_unit_test(limits_of_tokens_have_an_order),
        cmocka_unit_test(zeros_and_minus_ones_mean_what_they_say),
        cmocka_unit_test(seeds_are_whole_and_counted_on),
        cmocka_unit_test(stops_are_a_string_or_many),
        cmocka_unit_test(bias_is_an_object_or_pairs),
        cmocka_unit_test(lists_have_an_end),
        cmocka_unit_test(samplers_that_are_left_out_are_off),
        cmocka_unit_test(wrong_fields_are_named_by_their_path),
        cmocka_unit_test(bodies_that_are_none_are_said),
        cmocka_unit_test(prompts_come_in_every_form),
        cmocka_unit_test(messages_go_through_the_template),
        cmocka_unit_test(vllms_names_are_known),
        cmocka_unit_test(tools_may_be_allowed),
        cmocka_unit_test(a_last_message_of_the_assistant_is_continued),
        cmocka_unit_test(requests_with_tools_have_a_template_of_their_own),
        cmocka_unit_test(a_prompt_may_begin_thinking),
        cmocka_unit_test(thinking_has_the_templates_marks),
        cmocka_unit_test(thinking_that_is_not_finished_is_continued),
        cmocka_unit_test(an_answer_goes_on_after_the_template_s_own_thinking),
        cmocka_unit_test(templates_find_roles_and_effort),
        cmocka_unit_test(predictions_are_read),
        cmocka_unit_test(edges_are_in_the_engines_ranges),
        cmocka_unit_test(logprobs_have_three_shapes),
        cmocka_unit_test(tokens_of_thinking_are_counted),
        cmocka_unit_test(probabilities_of_a_draw_are_no_logarithms),
    };
    return cmocka_run_group_tests(tests, open_world, close_world);
}
