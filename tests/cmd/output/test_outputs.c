// Outputs: never over what the line reads, over another's file only with --force, one writer.
#include "cmd/program.h"
#include "support/tiny_model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/stat.h>

#include <cmocka.h>

enum { PROMPTS = 12, FILE_MOST = 1 << 16 };
static char dir[64];
static said got;

// ---------------------------------------------------------------- files
static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static const char *text_of(const char *path) {
    static char text[FILE_MOST];
    FILE *f = fopen(path, "r");
    if (!f) fail_msg("%s is gone", path);
    text[fread(text, 1, sizeof text - 1, f)] = 0;
    fclose(f);
    return text;
}

static bool there(const char *path) {
    return !access(path, F_OK);
}

static void write_prompts(const char *path, int n) {
    FILE *f = fopen(path, "w");
    for (int i = 0; i < n; i++)
        fprintf(f,
                "{\"id\": \"q-%d\", \"messages\": [{\"role\": \"user\", \"content\": \"Number "
                "%d?\"}]}\n",
                i, i);
    fclose(f);
}

// Every test in a folder of its own, with a model and prompts.
static int enter(void **state) {
    (void)state;
    strcpy(dir, "outputs-XXXXXX");
    if (!mkdtemp(dir) || chdir(dir)) return 1;
    write_prompts("prompts.jsonl", PROMPTS);
    return fr_tiny_write(&(fr_tiny_options){.n_layer = 2, .n_ctx = 512}, "model.gguf", NULL) != 0;
}

static int leave(void **state) {
    char line[96];
    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", dir);
    return chdir("..") || system(line);
}

// ---------------------------------------------------------------- runs
static void works(const char *line) {
    run_line(&got, line);
    if (got.code) fail_msg("%s: exit %d, %s", line, got.code, got.err);
}

// Refused with this exit code and these words, and the file as it was.
static void refused(const char *line, int code, const char *words, const char *file) {
    char before[FILE_MOST];
    struct stat was, is;
    assert_int_equal(stat(file, &was), 0);
    snprintf(before, sizeof before, "%s", S_ISREG(was.st_mode) ? text_of(file) : "");
    run_line(&got, line);
    if (got.code != code || !strstr(got.err, words))
        fail_msg("%s: exit %d, %s", line, got.code, got.err);
    assert_int_equal(stat(file, &is), 0);
    assert_int_equal(is.st_ino, was.st_ino);
    assert_int_equal(is.st_size, was.st_size);
    if (S_ISREG(was.st_mode)) assert_string_equal(text_of(file), before);
}

#define DISTILL "distill -m model.gguf -t 1 --prompts prompts.jsonl -n 8 "
#define CURVE   "curve -m model.gguf -t 1 --rows 1,2 --context 16 -q "
#define TRAIN   "train medusa -m model.gguf -t 1 --vocab 300 --batch-rows 64 --steps 2 -q "

static void the_models_file_is_never_an_output(void **state) {
    (void)state;
    assert_int_equal(symlink("model.gguf", "soft"), 0);
    assert_int_equal(link("model.gguf", "hard"), 0);
    assert_int_equal(mkdir("data", 0777), 0);
    static const char *const names[] = {"model.gguf", "./model.gguf", "soft", "hard"};
    static const char *const lines[] = {TRAIN "--data data -o ",
                                        "datastore -m model.gguf --data prompts.jsonl -o ",
                                        DISTILL "-o ",
                                        DISTILL "--capture ",
                                        "capture -m model.gguf --data prompts.jsonl -o ",
                                        CURVE "--plot ",
                                        "accuracy -m model.gguf --prompts prompts.jsonl --plot "};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        for (size_t k = 0; k < 4; k++)
            for (int force = 0; force < 2; force++) {
                char line[256], name[64];
                snprintf(line, sizeof line, "%s%s%s", lines[i], names[k], force ? " --force" : "");
                snprintf(name, sizeof name, "%s: would write over -m model.gguf", names[k]);
                refused(line, 2, name, "model.gguf");
            }
}

static void other_inputs_are_never_outputs(void **state) {
    (void)state;
    assert_int_equal(mkdir("report", 0777), 0);
    assert_int_equal(link("prompts.jsonl", "report/bench.json"), 0);
    put("shape", "0\n0.0\n");
    put("m-00002-of-00002.gguf", "x");
    put("m-00001-of-00002.gguf", "x");
    static const struct {
        const char *line, *words, *file;
    } bad[] = {
        {DISTILL "-o prompts.jsonl", "-o prompts.jsonl: would write over --prompts",
         "prompts.jsonl"},
        {DISTILL "-o ./prompts.jsonl --force", "would write over --prompts", "prompts.jsonl"},
        {"capture -m model.gguf --data report -o report", "would write over --data", "report"},
        {"datastore -m model.gguf --data x,prompts.jsonl -o prompts.jsonl",
         "would write over --data prompts.jsonl", "prompts.jsonl"},
        {"datastore -m model.gguf --data . -o shape --force", "./shape, which --data reads",
         "shape"},
        {"datastore -m model.gguf --data . -o report/bench.json", "which --data reads",
         "prompts.jsonl"},
        {TRAIN "--data report --init shape -o shape", "--init shape, which is read (--force",
         "shape"},
        {"bench -m model.gguf --prompts prompts.jsonl --report report",
         "--report report/bench.json: would write over --prompts prompts.jsonl", "prompts.jsonl"},
        {"accuracy -m model.gguf --prompts prompts.jsonl --plot shape --force --drafter "
         "prompt-lookup,prompt-lookup+eagle:shape",
         "would write over --drafter shape", "shape"},
        {DISTILL "--chat-template-file shape -o shape --force",
         "would write over --chat-template-file shape", "shape"},
        {"curve -m m-00001-of-00002.gguf --plot m-00002-of-00002.gguf --force",
         "would write over -m m-00002-of-00002.gguf", "m-00002-of-00002.gguf"},
        {"distill -m model.gguf --prompts prompts.jsonl -o new --capture ./new", "is also -o new",
         "shape"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        refused(bad[i].line, 2, bad[i].words, bad[i].file);
    put("data.ckpt", "x");
    refused(TRAIN "--data report --init data.ckpt -o data --force", 2, "would write over --init",
            "data.ckpt");
}

static void only_its_own_kind_is_written_over(void **state) {
    (void)state;
    works(DISTILL "-o answers.jsonl -q");
    works(CURVE "--plot plot.svg");
    works("datastore -m model.gguf --data prompts.jsonl -o store -q");
    works("bench -m model.gguf -t 1 --prompts prompts.jsonl --limit 1 -n 4 --drafters "
          "prompt-lookup --report report -q");
    assert_int_equal(mkdir("man", 0777), 0);
    works("man --dir man");
    static const char *const lines[] = {
        // again, and nothing is in the way
        DISTILL "-q -o answers.jsonl", CURVE "--plot plot.svg",
        "datastore -m model.gguf --data prompts.jsonl -q -o store",
        "bench -m model.gguf -t 1 --prompts prompts.jsonl --limit 1 -n 4 --drafters prompt-lookup "
        "-q --report report",
        "man --dir man"};
    static const char *const files[] = {"answers.jsonl", "plot.svg", "store", "report/index.html",
                                        "man/forerun.1"};
    for (size_t i = 0; i < 5; i++) {
        char line[256];
        works(lines[i]);
        for (size_t k = 0; k < 5; k++) { // what another command wrote, and a user's
            char copy[FILE_MOST];
            if (k == i) continue;
            snprintf(copy, sizeof copy, "%s", text_of(files[k]));
            put(files[i], *copy == 'F' ? "my thesis" : copy);
            refused(lines[i], 1, "; --force writes over it", files[i]);
        }
        put(files[i], "my thesis, without a newline at its end");
        refused(lines[i], 1, files[i], files[i]);
        snprintf(line, sizeof line, "%s --force", lines[i]);
        works(line);
        works(lines[i]);
        assert_null(strstr(text_of(files[i]), "thesis"));
    }
    put("plot.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"><path d=\"mine\"/></svg>");
    refused(CURVE "--plot plot.svg", 1, "plot.svg: expected a picture", "plot.svg");
    put("empty", "");
    works(CURVE "--plot empty");
}

static void a_damaged_file_of_answers_is_not_asked_again(void **state) {
    (void)state;
    works(DISTILL "-o a.jsonl -q");
    char whole[FILE_MOST], text[FILE_MOST];
    snprintf(whole, sizeof whole, "%s", text_of("a.jsonl"));
    assert_int_equal(lines_in(whole), PROMPTS);
    static const int lines[] = {1, 3, PROMPTS};
    for (size_t i = 0; i < 3; i++) {
        char words[64], *at = strcpy(text, whole);
        for (int k = 1; k < lines[i]; k++)
            at = strchr(at, '\n') + 1;
        *at = '#';
        put("a.jsonl", text);
        snprintf(words, sizeof words, "a.jsonl, line %d: damaged", lines[i]);
        refused(DISTILL "-o a.jsonl -q", 1, words, "a.jsonl");
        refused(DISTILL "-o a.jsonl -q --force", 1, words, "a.jsonl");
    }
    // Half a line at the end is a killed run's; a whole one may lack its newline.
    snprintf(text, sizeof text, "%.*s", (int)strlen(whole) - 1, whole);
    put("a.jsonl", text);
    works(DISTILL "-o a.jsonl -q");
    assert_string_equal(text_of("a.jsonl"), whole);
    text[strlen(text) - 9] = 0;
    put("a.jsonl", text);
    works(DISTILL "-o a.jsonl -q");
    assert_string_equal(text_of("a.jsonl"), whole);
    // ... but what is no half line of ours stays.
    snprintf(text, sizeof text, "%smy notes", whole);
    put("a.jsonl", text);
    refused(DISTILL "-o a.jsonl -q", 1, "damaged", "a.jsonl");
    put("notes", "my notes\nand the last of them");
    refused(DISTILL "-o notes -q", 1, "notes: expected answers", "notes");
    put("notes", "my only line");
    refused(DISTILL "-o notes -q", 1, "notes: expected answers", "notes");
}

static void a_folder_of_other_things_is_no_capture(void **state) {
    (void)state;
    assert_int_equal(mkdir("mine", 0777), 0);
    put("mine/sources.txt", "where I read it\n");
    refused(DISTILL "-q --capture mine", 1, "found sources.txt in it", "mine/sources.txt");
    assert_false(there("mine/shard-000000.frs"));
    assert_int_equal(unlink("mine/sources.txt"), 0);
    put("mine/thesis", "x");
    refused(DISTILL "-q --capture mine", 1, "found thesis in it", "mine/thesis");
    works(DISTILL "-q --capture mine --force");
    assert_string_equal(text_of("mine/thesis"), "x");
    works(DISTILL "-q -o a.jsonl --capture states");
    works(DISTILL "-q -o a.jsonl --capture states/");
    assert_int_equal(mkdir("both", 0777), 0);
    works(DISTILL "-q -o both/a.jsonl --capture both");
    works(DISTILL "-q -o both/a.jsonl --capture both");
    assert_int_equal(mkdir("p.data", 0777), 0);
    put("p.data/list", "x");
    refused(TRAIN "--data prompts.jsonl -o p", 1, "p.data: expected a folder of shards",
            "p.data/list");
    works("capture -m model.gguf -t 1 --data a.jsonl -o given -q");
    put("q.ckpt", "mine");
    refused(TRAIN "--data given -o q --force", 1, "q.ckpt: expected the checkpoint", "q.ckpt");
    refused(TRAIN "--data given -o q --resume", 1, "q.ckpt: expected the checkpoint", "q.ckpt");
    works(TRAIN "--data given -o p");
    assert_int_equal(unlink("p.ckpt"), 0);
    refused(TRAIN "--data given -o p --init p", 2, "(--force allows it)", "p");
    works(TRAIN "--data given -o p --init p --force");
    put("r", "my notes");
    refused(TRAIN "--data given -o r", 1, "r: expected a pack", "r");
}

// ---------------------------------------------------------------- one at a time
static pid_t start(const char *line) {
    char text[1024], *argv[WORDS_MOST + 2] = {(char *)FR_PROGRAM};
    int n = 1;
    snprintf(text, sizeof text, "%s", line);
    for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
        argv[n++] = w;
    const pid_t child = fork();
    if (!child) {
        if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(127);
        execv(FR_PROGRAM, argv);
        _exit(127);
    }
    return child;
}

// Until the file holds something, which may take a while on a busy machine.
static void wait_for(const char *path, pid_t child) {
    struct stat s;
    for (int i = 0; i < 6000 && (stat(path, &s) || !s.st_size); i++) {
        if (waitpid(child, NULL, WNOHANG)) fail_msg("it ended before %s was there", path);
        usleep(10000);
    }
}

// The first is stopped while the second tries, so that neither is faster.
static void a_second_writer_is_refused(const char *line, const char *lock) {
    char words[64];
    const pid_t first = start(line);
    wait_for(lock, first);
    assert_int_equal(kill(first, SIGSTOP), 0);
    run_line(&got, line);
    snprintf(words, sizeof words, "process %ld is writing it", (long)first);
    if (got.code != 1 || !strstr(got.err, words))
        fail_msg("%s: exit %d, %s", line, got.code, got.err);
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
}

static void two_processes_never_write_one_output(void **state) {
    (void)state;
    write_prompts("many.jsonl", 2000);
#define MANY "distill -m model.gguf -t 1 --prompts many.jsonl -n 200 -q --width 1 "
    a_second_writer_is_refused(MANY "-o a.jsonl", "a.jsonl.lock");
    a_second_writer_is_refused(MANY "--capture states", "states.lock");
    a_second_writer_is_refused(MANY "-o b.jsonl --capture states", "b.jsonl.lock");
    works(DISTILL "-o answers.jsonl -q --capture data");
    const char *train = "train medusa -m model.gguf -t 1 --vocab 300 --batch-rows 64 --time 600s "
                        "-q --data data -o p";
    a_second_writer_is_refused(train, "p.lock");
    a_second_writer_is_refused("train medusa -m model.gguf -t 1 --time 600s -q --data many.jsonl "
                               "-o t",
                               "t.data.lock");
    // The locks of the killed ones hold nobody up and are gone in the end.
    works("distill -m model.gguf -t 1 --prompts prompts.jsonl -n 8 -q -o b.jsonl --capture states");
    assert_false(there("b.jsonl.lock"));
    assert_false(there("states.lock"));
}

// A training that goes on may write to its folder of answers still, and nobody else may.
static void a_training_that_goes_on_has_the_same_outputs(void **state) {
    (void)state;
#define LEARN "train medusa -m model.gguf -t 1 --vocab 300 --batch-rows 64 -q --data prompts.jsonl "
    const pid_t first = start(LEARN "-o p --tokens 100 --checkpoint-every 0 --time 600s");
    wait_for("p.ckpt", first);
    assert_int_equal(kill(first, SIGKILL), 0);
    waitpid(first, NULL, 0);
    assert_true(there("p.lock") && there("p.data.lock"));
    refused(LEARN "-o p --tokens 90 --steps 1 --resume", 1, "tokens=", "p.ckpt");
    works(LEARN "-o p --tokens 100 --steps 1 --resume");
    assert_false(there("p.lock") || there("p.data.lock"));
    // Its answers had only begun, or were never its own.
    assert_int_equal(mkdir("t.data", 0777), 0);
    a_second_writer_is_refused(LEARN "-o t --time 600s --resume", "t.data.lock");
    assert_int_equal(mkdir("q.data", 0777), 0);
    put("q.data/list", "x");
    refused(LEARN "-o q --steps 1 --resume", 1, "q.data: expected a folder of shards",
            "q.data/list");
}

static void answers_are_in_the_file_when_they_are_given(void **state) {
    struct stat s;
    (void)state;
    write_prompts("many.jsonl", 2000);
    const pid_t child = start("distill -m model.gguf -t 1 --prompts many.jsonl -n 300 -q "
                              "--width 1 -o a.jsonl --sampled 0");
    wait_for("a.jsonl", child);
    assert_int_equal(kill(child, SIGKILL), 0);
    waitpid(child, NULL, 0);
    assert_int_equal(stat("a.jsonl", &s), 0);
    const char *text = text_of("a.jsonl");
    assert_int_equal(text[strlen(text) - 1], '\n'); // no buffer's end
    assert_in_range(lines_in(text), 1, 1999);
}

static void short_answers_have_room_for_their_question(void **state) {
    (void)state;
    works(DISTILL "-o a.jsonl -n 1 -q");
    assert_int_equal(lines_in(text_of("a.jsonl")), PROMPTS);
    run_line(&got, DISTILL "-o b.jsonl -c 9 -q");
    assert_int_equal(got.code, 1);
    assert_non_null(strstr(got.err, "b.jsonl: no text was written: all 12 texts"));
    run_line(&got, DISTILL "--capture b -c 9 -q");
    assert_int_equal(got.code, 1);
    assert_non_null(strstr(got.err, "b: no text was written"));
}

static void what_a_killed_run_left_is_removed(void **state) {
    (void)state;
    const pid_t dead = fork();
    if (!dead) _exit(0);
    waitpid(dead, NULL, 0);
    static const char *const outputs[] = {"store", "plot.svg", "p", "p.ckpt"};
    char left[4][64];
    for (size_t i = 0; i < 4; i++) {
        snprintf(left[i], sizeof left[i], "%s.%ld.part", outputs[i], (long)dead);
        put(left[i], "half");
    }
    works("datastore -m model.gguf --data prompts.jsonl -o store -q");
    works(CURVE "--plot plot.svg");
    works(DISTILL "-q --capture data");
    works(TRAIN "--data data -o p");
    for (size_t i = 0; i < 4; i++)
        if (there(left[i])) fail_msg("%s is still there", left[i]);
}

#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, enter, leave)

int main(void) {
    const struct CMUnitTest tests[] = {IN_A_FOLDER(the_models_file_is_never_an_output),
                                       IN_A_FOLDER(other_inputs_are_never_outputs),
                                       IN_A_FOLDER(only_its_own_kind_is_written_over),
                                       IN_A_FOLDER(a_damaged_file_of_answers_is_not_asked_again),
                                       IN_A_FOLDER(a_folder_of_other_things_is_no_capture),
                                       IN_A_FOLDER(two_processes_never_write_one_output),
                                       IN_A_FOLDER(a_training_that_goes_on_has_the_same_outputs),
                                       IN_A_FOLDER(answers_are_in_the_file_when_they_are_given),
                                       IN_A_FOLDER(short_answers_have_room_for_their_question),
                                       IN_A_FOLDER(what_a_killed_run_left_is_removed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
