// distill against run: the same text for the same conversation, whatever the model's tokenizer and
// the options say, in every turn.
#include "cmd/program.h"
#include "decode/draw/sampler.h"
#include "gguf/hash.h"
#include "support/quick.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

enum { TALKS = 40, TURNS = 3, CHECKED = 5 };
static char dir[64];
static said got;

static const struct {
    fr_tiny_options model;
    const char *chat;
} models[] = {
    {{.arch = "llama", .head_dim = 32, .n_padding = 40}, "chatml"},
    {{.arch = "llama", .head_dim = 32, .spm = true, .n_padding = 40, .seed = 1}, "llama2"},
    {{.arch = "qwen2", .head_dim = 32, .n_padding = 9, .untied = true}, "chatml"},
    {{.arch = "qwen3", .head_dim = 32, .n_padding = 40}, "chatml"},
    {{.arch = "gemma3", .head_dim = 32, .n_padding = 40}, "gemma3"},
    {{.arch = "phi3", .head_dim = 32, .n_padding = 40}, "phi3"},
    {{.arch = "phi3", .head_dim = 32, .n_ctx_short = 60, .seed = 2}, "phi3"},
};
enum { MODELS = sizeof models / sizeof *models };

static const char *in_dir(const char *name) {
    static char path[4][128];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}

// Prompts of several turns, every third with a system message.
static void write_prompts(void) {
    FILE *f = fopen(in_dir("prompts.jsonl"), "w");
    assert_non_null(f);
    for (int i = 0; i < TALKS; i++) {
        fprintf(f, "{\"id\": \"talk-%d\", \"messages\": [", i);
        if (i % 3 == 0) fprintf(f, "{\"role\": \"system\", \"content\": \"Be %d.\"}, ", i);
        for (int k = 0; k < TURNS; k++)
            fprintf(f, "%s{\"role\": \"user\", \"content\": \"What of the %d and %d?\"}",
                    k ? ", " : "", i, k);
        fprintf(f, "]}\n");
    }
    fclose(f);
}

static int set_up(void **state) {
    (void)state;
    strcpy(dir, "distill-bytes-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    write_prompts();
    for (int m = 0; m < MODELS; m++) {
        char name[32];
        snprintf(name, sizeof name, "%d.gguf", m);
        if (fr_tiny_write(&models[m].model, in_dir(name), NULL)) return 1;
    }
    return 0;
}

static int tear_down(void **state) {
    char line[96];
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", dir);
    return system(line);
}

// What distill and run are told alike, and what says to either how answers are drawn.
typedef struct how {
    int model;
    const char *kv;
    bool sampled;
} how;

static uint64_t seed_of(const char *id) { // of a conversation: the hash of its name
    fr_hash h;
    fr_hash_open(&h, 1);
    fr_hash_add(&h, id, strlen(id));
    return fr_hash_value(&h);
}

static const char *content(const json_t *messages, size_t i) {
    return json_string_value(json_object_get(json_array_get(messages, i), "content"));
}

static bool is_answer(const json_t *messages, size_t i) {
    const char *role = json_string_value(json_object_get(json_array_get(messages, i), "role"));
    return !strcmp(role, "assistant");
}

// The answer of run to the first n messages is the one behind them.
static void check_turn(const how *h, const char *id, const json_t *messages, size_t n) {
    char line[1024], draws[128] = "--temp 0";
    json_t *asked = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append(asked, json_array_get(messages, i));
    char *text = json_dumps(asked, 0);
    json_decref(asked);
    if (h->sampled)
        snprintf(draws, sizeof draws, "--temp 1.3 --top-k 40 --top-p 0.95 --min-p 0 -s %llu",
                 (unsigned long long)seed_of(id));
    snprintf(line, sizeof line,
             "run -m %s/%d.gguf -t 1 --kv-type %s --chat-template %s -n 40 --drafter none --json "
             "--messages - %s",
             dir, h->model, h->kv, models[h->model].chat, draws);
    run_with(&got, line, text, strlen(text), 0, NULL);
    free(text);
    if (got.code) fail_msg("%s: %s", line, got.err);
    json_t *told = json_loadb(got.out, got.n_out, JSON_ALLOW_NUL, NULL);
    const char *expected = json_string_value(json_object_get(told, "text"));
    if (strcmp(expected, content(messages, n)))
        fail_msg("%s, %s, message %zu:\nrun     '%s'\ndistill '%s'", line, id, n, expected,
                 content(messages, n));
    json_decref(told);
}

// Checks the answers of a few conversations, those of several turns first of all; how many turns
// behind the first there were.
static int check_answers(const how *h, const char *path) {
    char text[16384];
    int later = 0, firsts = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(text, sizeof text, f)) {
        json_t *line = json_loadb(text, strlen(text), JSON_ALLOW_NUL, NULL);
        assert_non_null(line);
        const json_t *messages = json_object_get(line, "messages");
        const char *id = json_string_value(json_object_get(line, "id"));
        int turn = 0;
        for (size_t i = 0; i < json_array_size(messages); i++) {
            if (!is_answer(messages, i) || (turn++ == 0 && firsts++ >= CHECKED)) continue;
            if (turn > 1 && later++ >= CHECKED) continue;
            check_turn(h, id, messages, i);
        }
        json_decref(line);
    }
    fclose(f);
    return later;
}

static int compare(const how *h) {
    char line[1024];
    const char *answers = in_dir("answers.jsonl");
    remove(answers);
    snprintf(line, sizeof line,
             "distill -m %s/%d.gguf -t 1 --kv-type %s --chat-template %s -n 40 -c 400 --prompts "
             "%s/prompts.jsonl -o %s --turns %d --sampled %d --temp 1.3 --width 7 --json",
             dir, h->model, h->kv, models[h->model].chat, dir, answers, TURNS, h->sampled);
    run_with(&got, line, "", 0, 0, NULL);
    if (got.code) fail_msg("%s: %s", line, got.err);
    json_t *told = json_loadb(got.out, got.n_out, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(told, "texts")), TALKS);
    json_decref(told);
    return check_answers(h, answers);
}

// Under FR_QUICK half of what a model is tried with, the other half with the next model.
static void answers_are_those_of_run(void **state) {
    const bool quick = fr_test_is_quick();
    int later = 0;
    (void)state;
    for (int i = 0; i < 4 * MODELS; i++) {
        if (quick && (i / 4 + i / 2 + i) % 2) continue;
        const char *other = i / 4 % 2 ? "f16+q8_0" : "q8_0"; // than f16: by model
        const how h = {.model = i / 4, .kv = i & 1 ? other : "f16", .sampled = (i >> 1 & 1) != 0};
        later += compare(&h);
    }
    assert_true(later >= MODELS); // conversations did go on
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_run)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
