// test_replay.c — forerun-lab replay on a tiny model: what it measures, goes on with and refuses.
#include "cmd/program.h"
#include "lab/tiny_folder.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { PROMPTS = 7 };

static said s;
static char line[1024], file[SAID_MOST];

static int set_up(void **state) {
    (void)state;
    if (!make_folder()) return -1;
    FILE *f = fopen(in_folder("asked.jsonl"), "w");
    if (!f) return -1;
    for (int i = 0; i < PROMPTS; i++) { // every second one has another turn
        const char *more = i % 2 ? ", {\"role\": \"user\", \"content\": \"again, again\"}" : "";
        fprintf(f,
                "{\"id\": \"p-%d\", \"task\": \"t\", \"messages\": [{\"role\": \"user\", "
                "\"content\": \"%d and %d and %d and\"}%s]}\n",
                i, i, i, i, more);
    }
    fclose(f);
    const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_layer = 2, .n_ctx = 1024};
    return write_tiny(&tiny);
}

// Runs replay with these options besides the model, the prompts and the two files.
static int replay(const char *options) {
    snprintf(line, sizeof line,
             "replay -m %s/tiny.gguf -t 1 --prompts %s/asked.jsonl --answers %s/answers -o "
             "%s/results -n 24 --json %s",
             folder, folder, folder, folder, options);
    return run_line(&s, line);
}

static void start_anew(void) {
    unlink(in_folder("answers"));
    unlink(in_folder("results"));
}

static size_t read_file(const char *name) {
    FILE *f = fopen(in_folder(name), "r");
    assert_non_null(f);
    const size_t n = fread(file, 1, sizeof file - 1, f);
    fclose(f);
    file[n] = 0;
    return n;
}

static void write_file(const char *name, size_t n) {
    FILE *f = fopen(in_folder(name), "w");
    assert_non_null(f);
    assert_int_equal(fwrite(file, 1, n, f), n);
    fclose(f);
}

static int lines_of(const char *name) {
    int n = 0;
    read_file(name);
    for (const char *at = file; (at = strchr(at, '\n')); at++)
        n++;
    return n;
}

static double number(const char *of, const char *name) {
    json_t *all = json_loads(s.out, 0, NULL);
    assert_non_null(all);
    json_t *in = of ? json_object_get(all, of) : all;
    assert_non_null(json_object_get(in, name));
    const double x = json_number_value(json_object_get(in, name));
    json_decref(all);
    return x;
}

static void everything_is_equal_and_written_once(void **state) {
    (void)state;
    static char first[SAID_MOST];
    start_anew();
    assert_int_equal(replay("--drafters prompt-lookup,lookahead,jacobi --check 1"), 0);
    assert_true(number(NULL, "differences") == 0);
    assert_true(number("seconds", "tokens_checked") == number("seconds", "tokens_replayed"));
    assert_true(number("seconds", "tokens_replayed") > 0);
    assert_int_equal(lines_of("answers"), 1 + PROMPTS);
    assert_int_equal(lines_of("results"), 3 * PROMPTS);
    strcpy(first, strstr(s.out, "\"drafters\""));
    *strstr(first, "\"seconds\"") = 0;
    assert_int_equal(replay("--drafters prompt-lookup,lookahead,jacobi --check 1"), 0);
    assert_true(number("seconds", "tokens_replayed") == 0); // all was there
    assert_non_null(strstr(s.out, first));
    assert_int_equal(lines_of("results"), 3 * PROMPTS);
    assert_int_equal(replay("--drafters prompt-lookup --tree 5 --check 0"), 0); // another setting
    assert_true(number("seconds", "tokens_replayed") > 0);
    assert_int_equal(lines_of("answers"), 1 + PROMPTS);
    assert_int_equal(lines_of("results"), 4 * PROMPTS);
}

// However small the share, one of every drafter is decoded for real; results say when they were made.
static void one_result_is_checked_at_least(void **state) {
    (void)state;
    start_anew();
    assert_int_equal(replay("--drafters prompt-lookup,lookahead --check 0.000001"), 0);
    json_t *all = json_loads(s.out, 0, NULL), *drafter, *prompt;
    size_t i, k;
    json_array_foreach(json_object_get(all, "drafters"), i, drafter) {
        int checked = 0;
        assert_int_equal(json_array_size(json_object_get(drafter, "prompts")), PROMPTS);
        json_array_foreach(json_object_get(drafter, "prompts"), k, prompt) {
            checked += json_is_true(json_object_get(prompt, "checked"));
            assert_int_equal(json_string_length(json_object_get(prompt, "date")), 10);
        }
        assert_int_equal(checked, 1);
    }
    assert_int_equal(i, 2);
    json_decref(all);
}

// As after a kill: the last lines are missing, and the half of one is there.
static void what_is_missing_is_done_again(void **state) {
    (void)state;
    static const char *const names[] = {"answers", "results"};
    static char whole[SAID_MOST];
    start_anew();
    assert_int_equal(replay("--drafters lookahead"), 0);
    strcpy(whole, strstr(s.out, "\"tokens\""));
    *strstr(whole, "\"rows_per_pass\"") = 0;
    for (int i = 0; i < 2; i++) {
        const size_t n = read_file(names[i]);
        write_file(names[i], n * 2 / 3);
    }
    assert_int_equal(replay("--drafters lookahead"), 0);
    assert_non_null(strstr(s.out, whole));
    assert_int_equal(lines_of("answers"), 1 + PROMPTS);
    assert_int_equal(lines_of("results"), PROMPTS);
}

static void change_digit(char *at) {
    *at = *at == '0' ? '1' : '0';
}

// One token of an answer is another: the target's own draws give that away. A second turn, which was
// asked behind that answer, is not played; the other conversations are.
static void a_wrong_answer_is_named(void **state) {
    (void)state;
    static const char *const ids[] = {"p-2", "p-3"};
    for (int i = 0; i < 2; i++) {
        char id[16], words[80];
        start_anew();
        assert_int_equal(replay("--drafters prompt-lookup --check 0"), 0);
        unlink(in_folder("results"));
        const size_t n = read_file("answers");
        snprintf(id, sizeof id, "\"id\":\"%s\"", ids[i]);
        char *at = strstr(strstr(file, id), "\"tokens\":[");
        at += strcspn(at, ",") - 1; // the first token's last digit
        change_digit(at);
        if (i) change_digit(strstr(at, "\"prompt\":\"") + strlen("\"prompt\":\""));
        write_file("answers", n);
        assert_int_equal(replay("--drafters prompt-lookup --check 0"), 1);
        snprintf(words, sizeof words, "asked, prompt %s: the replay gives other bytes than plain",
                 ids[i]);
        assert_non_null(strstr(s.err, words));
        assert_true(number(NULL, "differences") == 1);
        assert_int_equal(lines_of("results"), PROMPTS - 1);
    }
}

static void refuse(int code, const char *options, const char *sentence) {
    if (replay(options) != code || !strstr(s.err, sentence))
        fail_msg("%s: exit %d, %s", line, s.code, s.err);
    assert_int_equal(s.n_out, 0);
}

// Answers may be of a longer context, or of a file that was damaged.
static void answers_that_cannot_be_read_are_refused(void **state) {
    (void)state;
    start_anew();
    assert_int_equal(replay("--drafters lookahead --check 0"), 0);
    unlink(in_folder("results"));
    refuse(1, "--drafters lookahead --check 0 -c 32", "do not fit the context of 32");
    const size_t n = read_file("answers");
    char *at = strstr(file, "\"tokens\":[") + strlen("\"tokens\":["),
         *behind = at + strcspn(at, ",");
    memmove(at + 5, behind, n - (size_t)(behind - file));
    memcpy(at, "99999", 5);
    write_file("answers", n + 5 - (size_t)(behind - at));
    refuse(1, "--drafters lookahead", "answers, line 2: expected tokens of the model's vocabulary");
}

static void what_cannot_be_measured_is_refused(void **state) {
    (void)state;
    start_anew();
    refuse(2, "", "--drafters: a SPEC is needed");
    refuse(2, "--drafters auto", "expected the drafters themselves");
    refuse(2, "--drafters lookahead --tree auto", "expected a size that no clock decides");
    refuse(2, "--drafters nobody", "nobody");
    assert_int_equal(replay("--drafters lookahead --limit 1 --check 0"), 0);
    refuse(1, "--drafters lookahead --temp 0.7", "answers, line 1: expected answers of");
    start_anew();
    read_file("asked.jsonl");
    write_file("results", strlen(file)); // a file of others is not written to
    refuse(1, "--drafters lookahead", "results, line 1: expected {\"key\",\"setup\"");
    assert_int_equal(lines_of("results"), PROMPTS);
}

// Whether a line finds results of `options` there; they are measured anew else.
static bool are_there(const char *options) {
    unlink(in_folder("answers")); // of another template
    assert_int_equal(replay(options), 0);
    return number("seconds", "tokens_replayed") == 0;
}

static void put(const char *name, const char *text) {
    strcpy(file, text);
    write_file(name, strlen(text));
}

static void make_store(const char *text) {
    put("texts.txt", text);
    snprintf(line, sizeof line, "datastore -m %s/tiny.gguf --data %s/texts.txt -o %s/store -q",
             folder, folder, folder);
    if (run_line(&s, line)) fail_msg("%s: %s", line, s.err);
}

// A file may change under its name, to as many bytes.
static void results_are_of_what_the_files_hold(void **state) {
    (void)state;
    char tree[160], spec[160];
    snprintf(tree, sizeof tree, "--check 0 --drafters prompt-lookup --tree %s/shape", folder);
    snprintf(spec, sizeof spec, "--check 0 --drafters rest:%s/store", folder);
    start_anew();
    put("shape", "0\n0.0\n");
    assert_false(are_there(tree));
    assert_true(are_there(tree));
    put("shape", "0\n0.1\n");
    assert_false(are_there(tree));
    make_store("0 and 1 and 2 and 3 and 4 and 5 and");
    assert_false(are_there(spec));
    assert_true(are_there(spec));
    make_store("0 dna 1 dna 2 dna 3 dna 4 dna 5 dna");
    assert_false(are_there(spec));
}

static void results_are_of_a_template_and_a_context(void **state) {
    (void)state;
    static const char *const more[] = {"", "-c 400", "--chat-template zephyr",
                                       "--chat-template-file %s/template"};
    char options[160];
    start_anew();
    for (size_t i = 0; i < sizeof more / sizeof *more; i++) {
        put("template", "{{ messages[0].content }}");
        strcpy(options, "--check 0 --drafters lookahead ");
        snprintf(options + strlen(options), 100, more[i], folder);
        assert_false(are_there(options));
        assert_true(are_there(options));
    }
    put("template", "{{ messages[0].content }}!");
    assert_false(are_there(options));
}

static void inputs_are_never_outputs(void **state) {
    (void)state;
    static const char *const outputs[] = {"--answers", "-o"};
    const size_t n = read_file("asked.jsonl");
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "replay -m %s/tiny.gguf --prompts %s/asked.jsonl --drafters lookahead %s "
                 "%s/asked.jsonl",
                 folder, folder, outputs[i], folder);
        if (run_line(&s, line) != 2 || !strstr(s.err, "would write over --prompts"))
            fail_msg("%s: exit %d, %s", line, s.code, s.err);
    }
    assert_int_equal(read_file("asked.jsonl"), n);
}

// What has no whole line of their kind is somebody else's, and is left as it is.
static void a_file_without_lines_is_refused(void **state) {
    (void)state;
    static const char *const names[] = {"answers", "results"};
    for (int i = 0; i < 2; i++) {
        start_anew();
        strcpy(file, "a note without an end of line");
        write_file(names[i], strlen(file));
        refuse(1, "--drafters lookahead", "expected whole lines of JSON, found 29 bytes");
        assert_int_equal(read_file(names[i]), 29);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_is_equal_and_written_once),
        cmocka_unit_test(one_result_is_checked_at_least),
        cmocka_unit_test(what_is_missing_is_done_again),
        cmocka_unit_test(a_wrong_answer_is_named),
        cmocka_unit_test(answers_that_cannot_be_read_are_refused),
        cmocka_unit_test(what_cannot_be_measured_is_refused),
        cmocka_unit_test(results_are_of_what_the_files_hold),
        cmocka_unit_test(results_are_of_a_template_and_a_context),
        cmocka_unit_test(inputs_are_never_outputs),
        cmocka_unit_test(a_file_without_lines_is_refused),
    };
    return cmocka_run_group_tests_name("lab/replay", tests, set_up, drop_folder);
}
