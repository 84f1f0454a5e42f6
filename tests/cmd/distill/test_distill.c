// distill and capture: the answers are those of `run`, and no interruption loses or doubles any.
#include "cmd/program.h"
#include "support/tiny_model.h"
#include "text/tokenizer.h"
#include "train/data/shard.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <zlib.h>

#include <cmocka.h>

enum { PROMPTS = 24 };
static char dir[64];
static said got;

static const char *in_dir(const char *name) {
    static char path[4][128];
    static int at;
    at = (at + 1) % 4;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}

static void prompt_text(char *to, int i) {
    snprintf(to, 64, "Question^%d:^what^is^%d?", i, i * i);
}

static void write_prompts(const char *path, bool packed) {
    gzFile f = gzopen(path, packed ? "wb" : "wT");
    for (int i = 0; i < PROMPTS; i++) {
        char text[64];
        prompt_text(text, i);
        for (char *c = text; *c; c++)
            if (*c == '^') *c = ' ';
        gzprintf(
            f,
            "{\"id\": \"q-%d\", \"task\": 1234567890123456789, \"messages\": [{\"role\": \"user\", "
            "\"content\": \"%s\"}]}\n",
            i, text);
    }
    gzclose(f);
}

static int set_up(void **state) {
    (void)state;
    strcpy(dir, "distill-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    const fr_tiny_options options = {.n_ctx = 512};
    write_prompts(in_dir("prompts.jsonl"), false);
    write_prompts(in_dir("prompts.jsonl.gz"), true);
    return fr_tiny_write(&options, in_dir("model.gguf"), NULL);
}

static int tear_down(void **state) {
    char line[96];
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", dir);
    return system(line);
}

static void command(char line[1024], const char *name, const char *rest) {
    snprintf(line, 1024, "%s -m %s -t 1 %s", name, in_dir("model.gguf"), rest);
}

// The answers of a file by number of their prompt; fails on a double.
static int read_answers(const char *path, char answer[PROMPTS][4096]) {
    char text[8192];
    int n = 0;
    FILE *f = fopen(path, "r");
    if (!f) return 0;
    memset(answer, 0, PROMPTS * 4096);
    while (fgets(text, sizeof text, f)) {
        json_t *line = json_loadb(text, strlen(text), JSON_ALLOW_NUL, NULL);
        assert_non_null(line);
        const int i = atoi(json_string_value(json_object_get(line, "id")) + 2);
        const json_t *messages = json_object_get(line, "messages");
        assert_int_equal(json_array_size(messages), 2);
        assert_int_equal(json_integer_value(json_object_get(line, "task")), 1234567890123456789);
        assert_false(answer[i][0]);
        answer[i][0] = '!'; // there, also when it is empty
        snprintf(answer[i] + 1, 4095, "%s",
                 json_string_value(json_object_get(json_array_get(messages, 1), "content")));
        json_decref(line);
        n++;
    }
    fclose(f);
    return n;
}

static int captured(const char *folder) {
    fr_shards *s;
    fr_error err = {0};
    if (fr_shards_open(&s, folder, NULL, NULL, NULL, &err)) fail_msg("%s", err.text);
    const int n = fr_shards_count(s);
    fr_shards_close(s);
    return n;
}

static char answers[PROMPTS][4096], again[PROMPTS][4096];

static void answers_are_those_of_run(void **state) {
    char rest[512], line[1024];
    (void)state;
    snprintf(rest, sizeof rest, "--prompts %s -o %s -n 24 --sampled 0 --width 5 --json",
             in_dir("prompts.jsonl.gz"), in_dir("greedy.jsonl"));
    command(line, "distill", rest);
    run_with(&got, line, "", 0, 0, NULL);
    assert_int_equal(got.code, 0);
    json_t *told = json_loadb(got.out, got.n_out, JSON_ALLOW_NUL, NULL);
    assert_int_equal(json_integer_value(json_object_get(told, "texts")), PROMPTS);
    json_decref(told);
    assert_int_equal(read_answers(in_dir("greedy.jsonl"), answers), PROMPTS);
    for (int i = 0; i < PROMPTS; i += 7) {
        char text[64];
        prompt_text(text, i);
        snprintf(rest, sizeof rest, "-n 24 --drafter none --json -p %s", text);
        command(line, "run", rest);
        run_with(&got, line, "", 0, 0, NULL);
        assert_int_equal(got.code, 0);
        told = json_loadb(got.out, got.n_out, JSON_ALLOW_NUL, NULL);
        assert_string_equal(answers[i] + 1, json_string_value(json_object_get(told, "text")));
        json_decref(told);
    }
}

static void kill_after(const char *line, int ms) {
    char text[1024], *argv[WORDS_MOST + 2] = {(char *)FR_PROGRAM};
    int n = 1, status;
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        argv[n++] = w;
    const pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(127);
        execv(FR_PROGRAM, argv);
        _exit(127);
    }
    let_run(child, ms);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

// Lines that end.
static int lines_of(const char *path) {
    int n = 0;
    FILE *f = fopen(path, "r");
    for (int c; f && (c = fgetc(f)) != EOF;)
        n += c == '\n';
    if (f) fclose(f);
    return n;
}

// Drawn answers too come out the same, because their noise belongs to the text.
static void killed_and_gone_on_with_is_whole(void **state) {
    char rest[512], line[1024];
    (void)state;
    snprintf(rest, sizeof rest,
             "--prompts %s -o %s --capture %s -n 40 --sampled 0.5 --temp 1.2 --width 3",
             in_dir("prompts.jsonl"), in_dir("whole.jsonl"), in_dir("whole"));
    command(line, "distill", rest);
    run_with(&got, line, "", 0, 0, NULL);
    assert_int_equal(got.code, 0);
    assert_int_equal(read_answers(in_dir("whole.jsonl"), answers), PROMPTS);
    assert_int_equal(captured(in_dir("whole")), PROMPTS);
    snprintf(rest, sizeof rest,
             "--prompts %s -o %s --capture %s -n 40 --sampled 0.5 --temp 1.2 --width 2",
             in_dir("prompts.jsonl"), in_dir("cut.jsonl"), in_dir("cut"));
    command(line, "distill", rest);
    int kills = 0, within = 0, before = 0, now = 0;
    for (int ms = 4; now < PROMPTS && kills < 100; kills++) {
        kill_after(line, ms);
        now = lines_of(in_dir("cut.jsonl"));
        within += now > 0 && now < PROMPTS;
        if (now == before) ms += 2 + ms / 8;       // it came to no answer
        FILE *f = fopen(in_dir("cut.jsonl"), "a"); // half a line, as a full disk leaves it
        if (kills % 5 == 0 && f) fputs("{\"id\": \"q-", f);
        if (f) fclose(f);
        before = now;
    }
    print_message("%d kills, %d of them with a part of the answers\n", kills, within);
    assert_true(within > 0);
    run_with(&got, line, "", 0, 0, NULL);
    if (got.code) fail_msg("%s", got.err);
    assert_int_equal(read_answers(in_dir("cut.jsonl"), again), PROMPTS);
    assert_int_equal(captured(in_dir("cut")), PROMPTS);
    for (int i = 0; i < PROMPTS; i++)
        assert_string_equal(answers[i], again[i]);
    run_with(&got, line, "", 0, 0, NULL); // there is nothing left to do
    assert_int_equal(got.code, 0);
    assert_int_equal(captured(in_dir("cut")), PROMPTS);
}

// States of them that are there do not stand for answers, nor are they captured again.
static void answers_that_are_gone_are_written_again(void **state) {
    char rest[512], line[1024];
    (void)state;
    snprintf(rest, sizeof rest, "--prompts %s -o %s --capture %s -n 8 --sampled 0 --width 5",
             in_dir("prompts.jsonl"), in_dir("gone.jsonl"), in_dir("gone"));
    command(line, "distill", rest);
    for (int i = 0; i < 3; i++) {
        if (i == 1) unlink(in_dir("gone.jsonl"));
        if (i == 2) assert_int_equal(truncate(in_dir("gone.jsonl"), 0), 0);
        run_with(&got, line, "", 0, 0, NULL);
        if (got.code) fail_msg("%s", got.err);
        assert_int_equal(read_answers(in_dir("gone.jsonl"), i ? again : answers), PROMPTS);
        assert_int_equal(captured(in_dir("gone")), PROMPTS);
        for (int k = 0; i && k < PROMPTS; k++)
            assert_string_equal(answers[k], again[k]);
    }
}

static void an_interrupt_keeps_what_is_done(void **state) {
    char rest[512], line[1024];
    (void)state;
    snprintf(rest, sizeof rest, "--prompts %s -o %s --capture %s -n 150 --sampled 0 --width 1",
             in_dir("prompts.jsonl"), in_dir("stopped.jsonl"), in_dir("stopped"));
    command(line, "distill", rest);
    for (int ms = 5; ms < 20000; ms += 2 + ms / 8) { // until it listens to the signal
        run_with(&got, line, "", 0, ms, NULL);
        if (got.code != 1000 + SIGINT) break;
    }
    assert_int_equal(got.code, 130);
    const int n = read_answers(in_dir("stopped.jsonl"), again);
    assert_int_equal(captured(in_dir("stopped")), n);
}

static void given_answers_are_read(void **state) {
    char rest[512], line[1024];
    (void)state;
    snprintf(rest, sizeof rest, "--data %s -o %s --taps 1,3 --json", in_dir("greedy.jsonl"),
             in_dir("given"));
    command(line, "capture", rest);
    run_with(&got, line, "", 0, 0, NULL);
    if (got.code) fail_msg("%s", got.err);
    fr_shards *s;
    assert_int_equal(fr_shards_open(&s, in_dir("given"), NULL, NULL, NULL, NULL), FR_OK);
    assert_int_equal(fr_shards_count(s), PROMPTS);
    assert_int_equal(fr_shards_format(s)->n_taps, 2);
    for (int i = 0; i < PROMPTS; i++) { // the last token of an answer is its end
        fr_sample sample;
        fr_shards_sample(s, i, &sample);
        int n = 0;
        for (int r = 0; r < sample.n; r++)
            n += sample.flags[r] == (FR_ROW_ANSWER | FR_ROW_DISTRIBUTION);
        assert_true(n > 0 && n < sample.n);
    }
    fr_shards_close(s);
    snprintf(rest, sizeof rest, "--data %s -o %s --width 1 --tokens 1", in_dir("greedy.jsonl"),
             in_dir("enough"));
    command(line, "capture", rest);
    run_with(&got, line, "", 0, 0, NULL);
    if (got.code) fail_msg("%s", got.err);
    assert_int_equal(captured(in_dir("enough")), 1);
    snprintf(rest, sizeof rest, "--data %s -o %s --json", in_dir("prompts.jsonl"), in_dir("none"));
    command(line, "capture", rest);
    run_with(&got, line, "", 0, 0, NULL);
    assert_int_equal(got.code, 1);
    assert_int_equal(got.n_out, 0);
    if (!strstr(got.err, "conversations has an answer")) fail_msg("%s", got.err);
}

// The turn is opened with more than stands before an answer, so short ones have no tokens of their
// own behind it.
static void an_answer_within_the_opened_turn_is_none(void **state) {
    char line[1024];
    (void)state;
    FILE *f = fopen(in_dir("opened.jinja"), "w");
    fputs("{% for m in messages %}{{ m.content }};{% endfor %}"
          "{% if add_generation_prompt %}think think{% endif %}",
          f);
    fclose(f);
    f = fopen(in_dir("opened.jsonl"), "w");
    for (int i = 0; i < 12; i++)
        fprintf(f,
                "{\"messages\":[{\"role\":\"user\",\"content\":\"%0*d\"},"
                "{\"role\":\"assistant\",\"content\":\"%s\"}]}\n",
                i % 2 ? 4 : 60, i, i % 2 ? "an answer that is longer" : "");
    fclose(f);
    char rest[512];
    snprintf(rest, sizeof rest, "--data %s -o %s --width 1 --chat-template-file %s",
             in_dir("opened.jsonl"), in_dir("opened"), in_dir("opened.jinja"));
    command(line, "capture", rest);
    run_with(&got, line, "", 0, 0, NULL);
    if (got.code) fail_msg("%s", got.err);
    fr_shards *s;
    assert_int_equal(fr_shards_open(&s, in_dir("opened"), NULL, NULL, NULL, NULL), FR_OK);
    for (int i = 0; i < fr_shards_count(s); i++) {
        fr_sample sample;
        fr_shards_sample(s, i, &sample);
        int n = 0;
        for (int r = 0; r < sample.n; r++)
            n += (sample.flags[r] & FR_ROW_ANSWER) != 0;
        if (sample.n > 50)
            assert_int_equal(n, 0);
        else
            assert_true(n > 0);
    }
    fr_shards_close(s);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static json_int_t told(const char *key) {
    json_t *root = json_loadb(got.out, got.n_out, JSON_ALLOW_NUL, NULL);
    assert_non_null(root);
    const json_int_t value = json_integer_value(json_object_get(root, key));
    json_decref(root);
    return value;
}

#define SYSTEM(text) "{\"role\":\"system\",\"content\":\"" text "\"}"
#define USER(text)   "{\"role\":\"user\",\"content\":\"" text "\"}"

// It is counted, named and left out; everything else is done, in another run too.
static void what_the_template_refuses_is_left_out(void **state) {
    char rest[512], line[1024];
    (void)state;
    write_file(
        in_dir("no-system.jinja"),
        "{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}"
        "{% endif %}{{ m.content }};{% endfor %}");
    write_file(in_dir("refused.jsonl"),
               "{\"id\":\"a\",\"messages\":[" USER(
                   "one") "]}\n"
                          "{\"id\":\"bad\",\"messages\":[" SYSTEM("s") "," USER(
                              "two") "]}\n"
                                     "{\"id\":\"c\",\"messages\":[" USER("three") "]}\n");
    snprintf(rest, sizeof rest, "--prompts %s -o %s -n 4 --width 1 --json --chat-template-file %s",
             in_dir("refused.jsonl"), in_dir("refused.out"), in_dir("no-system.jinja"));
    command(line, "distill", rest);
    for (int run = 0; run < 2; run++) {
        run_with(&got, line, "", 0, 0, NULL);
        if (got.code) fail_msg("%s", got.err);
        assert_int_equal(told("texts"), run ? 0 : 2);
        assert_int_equal(told("refused"), 1);
        if (!strstr(got.err, "refused.jsonl, prompt 2 (bad): chat template, line 1: no system"))
            fail_msg("%s", got.err);
    }
    assert_int_equal(lines_of(in_dir("refused.out")), 2);
    write_file(in_dir("refused.jsonl"), "{\"messages\":[" SYSTEM("s") "," USER("two") "]}\n");
    snprintf(rest, sizeof rest, "--prompts %s -o %s -n 4 --chat-template-file %s",
             in_dir("refused.jsonl"), in_dir("nothing.out"), in_dir("no-system.jinja"));
    command(line, "distill", rest);
    run_with(&got, line, "", 0, 0, NULL);
    assert_int_equal(got.code, 1);
    assert_non_null(strstr(got.err, "no text was written"));
}

// Numbers are ids too, and come back as they stood; without one the system message counts.
static void conversations_are_told_apart(void **state) {
    char rest[512], line[1024], text[256];
    (void)state;
    write_file(in_dir("apart.jsonl"),
               "{\"id\":1,\"messages\":[" USER(
                   "hi") "]}\n"
                         "{\"id\":2,\"messages\":[" USER(
                             "hi") "]}\n"
                                   "{\"messages\":[" SYSTEM("x") "," USER(
                                       "hi") "]}\n"
                                             "{\"messages\":[" SYSTEM("y") "," USER(
                                                 "hi") "]}\n"
                                                       "{\"messages\":[" SYSTEM("y") "," USER(
                                                           "hi") "]}\n");
    snprintf(rest, sizeof rest, "--prompts %s -o %s -n 4 --json", in_dir("apart.jsonl"),
             in_dir("apart.out"));
    command(line, "distill", rest);
    run_with(&got, line, "", 0, 0, NULL);
    if (got.code) fail_msg("%s", got.err);
    assert_int_equal(told("texts"), 4);
    assert_non_null(strstr(got.err, "1 stand there twice"));
    run_with(&got, line, "", 0, 0, NULL);
    assert_int_equal(told("texts"), 0);
    FILE *f = fopen(in_dir("apart.out"), "r");
    int numbers = 0;
    for (int i = 0; i < 4; i++) {
        assert_non_null(fgets(text, sizeof text, f));
        numbers += !strncmp(text, "{\"id\":1,", 8) || !strncmp(text, "{\"id\":2,", 8);
    }
    fclose(f);
    assert_int_equal(numbers, 2);
}

// An id that stands for two conversations is no reason to leave one of them out, whichever comes
// first.
static void ids_may_be_used_twice(void **state) {
    static const char *const order[] = {"first.jsonl,%s", "second.jsonl,%s"};
    char rest[512], line[1024];
    (void)state;
    write_file(in_dir("first.jsonl"), "{\"id\":1,\"messages\":[" USER("one") "]}\n");
    write_file(in_dir("second.jsonl"), "{\"id\":1,\"messages\":[" USER("two") "]}\n");
    for (int i = 0; i < 2; i++) {
        char files[256];
        snprintf(files, sizeof files, order[i], in_dir(i ? "first.jsonl" : "second.jsonl"));
        snprintf(rest, sizeof rest, "--prompts %s/%s -o %s --capture %s -n 4 --json", dir, files,
                 in_dir("used.out"), in_dir("used"));
        command(line, "distill", rest);
        for (int run = 0; run < 2; run++) {
            run_with(&got, line, "", 0, 0, NULL);
            if (got.code) fail_msg("%s", got.err);
            assert_int_equal(told("texts"), i || run ? 0 : 2);
            assert_int_equal(told("known"), i || run ? 2 : 0);
        }
    }
    assert_int_equal(lines_of(in_dir("used.out")), 2);
    assert_int_equal(captured(in_dir("used")), 2);
}

// Whatever of two files with the same ids a line names, its answers are captured once, and the folder
// can be read.
static void files_may_come_one_after_the_other(void **state) {
    static const struct {
        const char *first, *then;
        int captured;
    } ways[] = {{"first", "second", 2}, {"first,second", "first", 2}, {"first", "first,second", 2}};
    char rest[512], line[1024];
    (void)state;
    write_file(in_dir("first"), "{\"id\":1,\"messages\":[" USER("one") "]}\n");
    write_file(in_dir("second"), "{\"id\":1,\"messages\":[" USER("two") "]}\n");
    for (size_t w = 0; w < 2 * sizeof ways / sizeof *ways; w++) {
        const bool states_later = w % 2;
        char out[32], folder[32];
        snprintf(out, sizeof out, "after-%zu.out", w);
        snprintf(folder, sizeof folder, "after-%zu", w);
        for (int run = 0; run < 3; run++) {
            char files[256] = "";
            const char *names = run ? ways[w / 2].then : ways[w / 2].first;
            for (const char *name = names; name; name = strchr(name, ',')) {
                name += *name == ',';
                snprintf(files + strlen(files), sizeof files - strlen(files), "%s%s/%.*s",
                         *files ? "," : "", dir, (int)strcspn(name, ","), name);
            }
            snprintf(rest, sizeof rest, "--prompts %s -o %s -n 4 %s %s", files, in_dir(out),
                     run || !states_later ? "--capture" : "",
                     run || !states_later ? in_dir(folder) : "");
            command(line, "distill", rest);
            run_with(&got, line, "", 0, 0, NULL);
            if (got.code) fail_msg("%zu, %d: %s", w, run, got.err);
        }
        assert_int_equal(lines_of(in_dir(out)), 2);
        assert_int_equal(captured(in_dir(folder)), ways[w / 2].captured);
    }
}

// Ids of what follows answers in the sample, and whether each answer has an end of its own.
static int answer_tokens(const char *folder, int32_t *ids, int most) {
    fr_shards *s;
    fr_sample sample;
    int n = 0;
    assert_int_equal(fr_shards_open(&s, folder, NULL, NULL, NULL, NULL), FR_OK);
    assert_int_equal(fr_shards_count(s), 1);
    fr_shards_sample(s, 0, &sample);
    for (int r = 0; r < sample.n; r++)
        if (sample.flags[r] & FR_ROW_ANSWER && n < most) ids[n++] = sample.ids[r + 1];
    fr_shards_close(s);
    return n;
}

// An answer that was cut off is read again without the end that the template puts behind it.
static void a_cut_answer_has_no_end(void **state) {
    char rest[512], line[1024];
    int32_t ids[2][64];
    int n[2];
    (void)state;
    write_file(in_dir("cut.jsonl"), "{\"id\":\"c\",\"messages\":[" USER("Question") "]}\n");
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "{\"id\":\"c\",\"messages\":[" USER("Question") ",{\"role\":\"assistant\","
                                                                 "\"content\":\"forty two\"}]%s}\n",
                 i ? ",\"cut\":true" : "");
        write_file(in_dir("cut.out"), line);
        snprintf(rest, sizeof rest, "--prompts %s -o %s --capture %s", in_dir("cut.jsonl"),
                 in_dir("cut.out"), in_dir(i ? "cut-end" : "with-end"));
        command(line, "distill", rest);
        run_with(&got, line, "", 0, 0, NULL);
        if (got.code) fail_msg("%s", got.err);
        n[i] = answer_tokens(in_dir(i ? "cut-end" : "with-end"), ids[i], 64);
    }
    assert_int_equal(n[1], n[0] - 1);
    assert_memory_equal(ids[0], ids[1], sizeof **ids * (size_t)n[1]);
    // What is cut off now says so.
    snprintf(rest, sizeof rest, "--prompts %s -o %s -n 1", in_dir("prompts.jsonl"),
             in_dir("short.out"));
    command(line, "distill", rest);
    run_with(&got, line, "", 0, 0, NULL);
    FILE *f = fopen(in_dir("short.out"), "r");
    int cut = 0;
    while (fgets(line, sizeof line, f))
        cut += strstr(line, ",\"cut\":true}") != NULL;
    fclose(f);
    assert_true(cut > PROMPTS / 2);
}

// The template writes the last answer otherwise than those before it.
static void answers_that_move_are_found(void **state) {
    char rest[512], line[1024];
    int32_t one[64], both[64];
    int n[2];
    (void)state;
    write_file(in_dir("moving.jinja"),
               "{% for m in messages %}<{{ m.role }}>{% if m.role == 'assistant' and loop.last %}"
               "(let me think){% endif %}{{ m.content }};{% endfor %}"
               "{% if add_generation_prompt %}<assistant>{% endif %}");
    for (int i = 0; i < 2; i++) {
        write_file(in_dir("moving.jsonl"),
                   "{\"id\":\"m\",\"messages\":[" USER(
                       "How much") ",{\"role\":\"assistant\","
                                   "\"content\":\"forty two\"}," USER(
                                       "And now") ",{\"role\":\"assistant\","
                                                  "\"content\":\"none\"}]}\n");
        snprintf(rest, sizeof rest, "--data %s -o %s --turns %d --chat-template-file %s",
                 in_dir("moving.jsonl"), in_dir(i ? "moved" : "unmoved"), i + 1,
                 in_dir("moving.jinja"));
        command(line, "capture", rest);
        run_with(&got, line, "", 0, 0, NULL);
        if (got.code) fail_msg("%s", got.err);
        n[i] = answer_tokens(in_dir(i ? "moved" : "unmoved"), i ? both : one, 64);
    }
    // "(let me think)forty two;" alone; then "forty two;" and "(let me think)none;".
    char said_one[256] = "", said_both[256] = "";
    for (int i = 0; i < 2; i++) {
        fr_gguf *g;
        fr_tokenizer *t;
        fr_buffer text = {0};
        assert_int_equal(fr_gguf_open(&g, in_dir("model.gguf"), NULL), FR_OK);
        assert_int_equal(fr_tokenizer_open(&t, g, NULL), FR_OK);
        assert_int_equal(fr_tokenizer_answer(t, i ? both : one, (size_t)n[i], &text, NULL), FR_OK);
        snprintf(i ? said_both : said_one, 256, "%.*s", (int)text.n, text.data);
        fr_buffer_free(&text);
        fr_tokenizer_close(t);
        fr_gguf_close(g);
    }
    assert_string_equal(said_one, "(let me think)forty two;");
    assert_string_equal(said_both, "forty two;(let me think)none;");
}

// Lines name the model that wrote them.
static void answers_of_another_model_are_refused(void **state) {
    char rest[512], line[1024];
    (void)state;
    write_file(in_dir("whose.jsonl"), "{\"id\":\"w\",\"messages\":[" USER("Whose") "]}\n");
    write_file(in_dir("whose.out"),
               "{\"id\":\"w\",\"messages\":[" USER("Whose") ",{\"role\":\"assistant\",\"content\":"
                                                            "\"theirs\"}],\"model\":\"0123\"}\n");
    snprintf(rest, sizeof rest, "--prompts %s -o %s -n 4", in_dir("whose.jsonl"),
             in_dir("whose.out"));
    command(line, "distill", rest);
    run_with(&got, line, "", 0, 0, NULL);
    assert_int_equal(got.code, 1);
    if (!strstr(got.err, "answers of another model: expected the fingerprint"))
        fail_msg("%s", got.err);
    assert_int_equal(lines_of(in_dir("whose.out")), 1);
}

static void tokens_of_earlier_runs_count(void **state) {
    char rest[512], line[1024];
    (void)state;
    snprintf(rest, sizeof rest, "--prompts %s -o %s -n 8 --tokens 10 --width 1",
             in_dir("prompts.jsonl"), in_dir("some.out"));
    command(line, "distill", rest);
    run_with(&got, line, "", 0, 0, NULL);
    if (got.code) fail_msg("%s", got.err);
    const int n = lines_of(in_dir("some.out"));
    assert_true(n > 0 && n < PROMPTS);
    for (int i = 0; i < 2; i++)
        run_with(&got, line, "", 0, 0, NULL);
    assert_int_equal(got.code, 0);
    assert_true(lines_of(in_dir("some.out")) <= n + 1); // an answer's end may not have been counted
}

static void bad_requests_say_why(void **state) {
    static const struct {
        const char *line, *why;
        int code;
    } bad[] = {
        {"distill -m %s", "--prompts", 2},
        {"distill -m %s --prompts none.jsonl", "-o", 2},
        {"distill -m %s --prompts none.jsonl -o /dev/null", "none.jsonl", 1},
        {"distill -m %s --prompts none.jsonl -o -", "expected a FILE", 2},
        {"capture -m %s --data none.jsonl -o states --taps 2,1", "ascending", 2},
        {"capture -m %s --data none.jsonl -o states --taps 77", "--taps", 2},
        {"capture -m %s --data none.jsonl", "-o", 2},
        {"run -m %s -p hello -c 513", "ctx-size: expected 1 to 512, the model's context, found 513",
         2},
        {"distill -m %s --prompts none.jsonl -o none.out -n 9 -c 513",
         "ctx-size: expected 1 to 512, the model's context, found 513", 2},
        {"capture -m %s --data none.jsonl -o states -c 513",
         "ctx-size: expected 1 to 512, the model's context, found 513", 2},
        {"distill -m %s --prompts none.jsonl -o none.out -n 512", "n-predict", 2},
        {"distill -m %s --prompts none.jsonl -o none.out --taps 1",
         "--taps 1: expected --capture, which keeps those layers", 2},
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char line[512];
        snprintf(line, sizeof line, bad[i].line, in_dir("model.gguf"));
        run_with(&got, line, "", 0, 0, NULL);
        if (got.code != bad[i].code || !strstr(got.err, bad[i].why))
            fail_msg("%s: exit %d, %s", line, got.code, got.err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(answers_are_those_of_run),
                                       cmocka_unit_test(killed_and_gone_on_with_is_whole),
                                       cmocka_unit_test(answers_that_are_gone_are_written_again),
                                       cmocka_unit_test(an_interrupt_keeps_what_is_done),
                                       cmocka_unit_test(given_answers_are_read),
                                       cmocka_unit_test(an_answer_within_the_opened_turn_is_none),
                                       cmocka_unit_test(what_the_template_refuses_is_left_out),
                                       cmocka_unit_test(conversations_are_told_apart),
                                       cmocka_unit_test(ids_may_be_used_twice),
                                       cmocka_unit_test(files_may_come_one_after_the_other),
                                       cmocka_unit_test(a_cut_answer_has_no_end),
                                       cmocka_unit_test(answers_that_move_are_found),
                                       cmocka_unit_test(answers_of_another_model_are_refused),
                                       cmocka_unit_test(tokens_of_earlier_runs_count),
                                       cmocka_unit_test(bad_requests_say_why)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
