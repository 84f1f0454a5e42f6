// datastore: the store holds the texts of whatever it is given, and no end of the work leaves half
// a file.
#include "base/alloc.h"
#include "cmd/lib/text.h"
#include "cmd/program.h"
#include "draft/retrieval/datastore.h"
#include "support/chats.h"
#include "support/folder.h"
#include "support/tiny_model.h"
#include "train/data/shard.h"
#include "json/messages.h"
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <zlib.h>

#include <cmocka.h>

static char dir[64];
static said got;
static fr_cmd_text text;

static const char *in_dir(const char *name) {
    static char path[8][128];
    static int at;
    at = (at + 1) % 8;
    snprintf(path[at], sizeof path[at], "%s/%s", dir, name);
    return path[at];
}

static void write_file(const char *name, const char *bytes, size_t n, bool packed) {
    gzFile f = gzopen(in_dir(name), packed ? "wb" : "wT");
    assert_non_null(f);
    assert_int_equal(gzwrite(f, bytes, (unsigned)n), n);
    gzclose(f);
}

static void write_text(const char *name, const char *words, bool packed) {
    write_file(name, words, strlen(words), packed);
}

static int set_up(void **state) {
    (void)state;
    fr_error err;
    strcpy(dir, "datastore-XXXXXX");
    if (!mkdtemp(dir)) return 1;
    const fr_tiny_options options = {.n_ctx = 512, .n_layer = 1};
    if (fr_tiny_write(&options, in_dir("model.gguf"), &err)) return 1;
    return fr_cmd_text_open(&text, in_dir("model.gguf"), &err) ||
           fr_cmd_text_template(&text, &(fr_cmd_args){0}, &err);
}

static int tear_down(void **state) {
    char line[96];
    (void)state;
    fr_cmd_text_close(&text);
    snprintf(line, sizeof line, "rm -rf %s", dir);
    return system(line);
}

static int build(const char *data, const char *store) {
    char line[1024];
    snprintf(line, sizeof line, "datastore -m %s --data %s -o %s --json", in_dir("model.gguf"),
             data, in_dir(store));
    return run_line(&got, line);
}

static json_int_t told(const char *key) {
    json_t *root = json_loads(got.out, 0, NULL);
    assert_non_null(root);
    const json_int_t value = json_integer_value(json_object_get(root, key));
    json_decref(root);
    return value;
}

// The text of number i of the store is these ids.
static void expect_text(const char *store, int i, const fr_ids *want) {
    fr_datastore s;
    fr_error err = {0};
    uint32_t at = 1;
    if (fr_datastore_open(&s, in_dir(store), &err)) fail_msg("%s", err.text);
    for (; i > 0; at++)
        i -= s.ids[at] == FR_DATASTORE_MARK;
    assert_true(at + want->n < s.n_ids);
    assert_memory_equal(s.ids + at, want->data, want->n * sizeof *want->data);
    assert_int_equal(s.ids[at + want->n], FR_DATASTORE_MARK);
    fr_datastore_close(&s);
}

static void expect_plain(const char *store, int i, const char *words) {
    fr_ids ids = {0};
    fr_error err;
    assert_int_equal(fr_tokenizer_encode(text.tokenizer, words, strlen(words), 0, &ids, &err), 0);
    expect_text(store, i, &ids);
    fr_ids_free(&ids);
}

static void expect_chat(const char *store, int i, const char *messages) {
    fr_json_chat chat;
    fr_chat_text rendered = {0};
    fr_ids ids = {0};
    fr_error err;
    assert_int_equal(parse_chat(&chat, messages, strlen(messages), &text.text->chat.takes, &err),
                     0);
    chat.request.add_generation_prompt = false;
    assert_int_equal(fr_text_render(text.text, &chat.request, FR_TEXT_BOS, &rendered, &ids, &err),
                     0);
    expect_text(store, i, &ids);
    fr_json_chat_close(&chat);
    fr_chat_text_close(&rendered);
    fr_ids_free(&ids);
}

// ---------------------------------------------------------------- what goes in

#define CHAT                                                                                       \
    "[{\"role\":\"user\",\"content\":\"What is it?\"},"                                            \
    "{\"role\":\"assistant\",\"content\":\"It is the wind.\"}]"

static void files_of_every_kind_are_read(void **state) {
    static const char lines[] =
        "{\"id\":\"a\",\"messages\":" CHAT "}\n\n{\"text\":\"the wind and the sea\"}\n";
    char data[512];
    (void)state;
    write_text("a.jsonl", lines, false);
    write_text("b.jsonl.gz", lines, true);
    write_text("c.txt", "the end of the wind <|im_end|>", false);
    write_text("d.gz", "and the wind", true);
    snprintf(data, sizeof data, "%s,%s,%s,%s", in_dir("a.jsonl"), in_dir("b.jsonl.gz"),
             in_dir("c.txt"), in_dir("d.gz"));
    if (build(data, "files.frd")) fail_msg("%s", got.err);
    assert_int_equal(told("texts"), 6);
    assert_int_equal(told("skipped_files"), 0);
    for (int i = 0; i < 4; i += 2) {
        expect_chat("files.frd", i, CHAT);
        expect_plain("files.frd", i + 1, "the wind and the sea");
    }
    expect_plain("files.frd", 4, "the end of the wind <|im_end|>"); // as text, no turn's end
    expect_plain("files.frd", 5, "and the wind");
}

static void folders_give_all_their_texts_in_order(void **state) {
    static const char binary[] = "no\0text";
    (void)state;
    mkdir(in_dir("folder"), 0777);
    mkdir(in_dir("folder/b"), 0777);
    mkdir(in_dir("folder/.hidden"), 0777);
    write_text("folder/c.txt", "third text here", false);
    write_text("folder/a.md", "first text here", false);
    write_text("folder/b/x.py", "def second(): pass", false);
    write_text("folder/.hidden/x.txt", "not this text", false);
    write_text("folder/.also", "nor this text", false);
    write_file("folder/d.bin", binary, sizeof binary, false);
    write_text("elsewhere.txt", "fourth text here", false);
    assert_int_equal(symlink("../elsewhere.txt", in_dir("folder/link.txt")), 0);
    assert_int_equal(symlink("..", in_dir("folder/b/circle")), 0);
    if (build(in_dir("folder"), "folder.frd")) fail_msg("%s", got.err);
    assert_int_equal(told("texts"), 4);
    assert_int_equal(told("skipped_files"), 1);
    expect_plain("folder.frd", 0, "first text here");
    expect_plain("folder.frd", 1, "def second(): pass");
    expect_plain("folder.frd", 2, "third text here");
    expect_plain("folder.frd", 3, "fourth text here");
    struct stat s;
    assert_int_equal(stat(in_dir("folder.frd"), &s), 0);
    assert_int_equal(told("bytes"), s.st_size);
    if (build(in_dir("folder"), "folder/own.frd")) fail_msg("%s", got.err);
    assert_int_equal(told("texts"), 4); // its lock is none
    assert_int_equal(symlink("nowhere", in_dir("folder/lost")), 0);
    assert_int_equal(build(in_dir("folder"), "none.frd"), 1);
    assert_non_null(strstr(got.err, "folder/lost: a link to nothing"));
}

// Answers and states of the target, as distill captures them.
static void shards_give_their_conversations(void **state) {
    char line[1024];
    fr_shards *shards;
    fr_error err;
    (void)state;
    write_text("prompts.jsonl",
               "{\"id\":\"p\",\"messages\":[{\"role\":\"user\",\"content\":\"Why?\"}]}\n"
               "{\"id\":\"q\",\"messages\":[{\"role\":\"user\",\"content\":\"How so?\"}]}\n",
               false);
    snprintf(line, sizeof line, "distill -m %s -t 1 --prompts %s --capture %s -n 20 --quiet",
             in_dir("model.gguf"), in_dir("prompts.jsonl"), in_dir("states"));
    if (run_line(&got, line)) fail_msg("%s", got.err);
    if (build(in_dir("states"), "states.frd")) fail_msg("%s", got.err);
    assert_int_equal(told("texts"), 2);
    assert_int_equal(fr_shards_open(&shards, in_dir("states"), NULL, NULL, NULL, &err), 0);
    for (int i = 0; i < 2; i++) {
        fr_sample s;
        fr_shards_sample(shards, i, &s);
        const fr_ids ids = {(int32_t *)s.ids, (size_t)s.n + 1, 0};
        expect_text("states.frd", i, &ids);
    }
    fr_shards_close(shards);
    snprintf(line, sizeof line, "run -m %s -t 1 -p Why? -n 20 --no-adapt --drafter %s:%s --json",
             in_dir("model.gguf"), "rest", in_dir("states.frd"));
    if (run_line(&got, line)) fail_msg("%s", got.err);
    json_t *with = json_loadb(got.out, got.n_out, JSON_ALLOW_NUL, NULL);
    assert_true(json_integer_value(json_object_get(with, "passes")) < 20); // it knows the answer
    snprintf(line, sizeof line, "run -m %s -t 1 -p Why? -n 20 --drafter none --json",
             in_dir("model.gguf"));
    if (run_line(&got, line)) fail_msg("%s", got.err);
    json_t *without = json_loadb(got.out, got.n_out, JSON_ALLOW_NUL, NULL);
    assert_true(json_equal(json_object_get(with, "tokens"), json_object_get(without, "tokens")));
    json_decref(with);
    json_decref(without);
}

static void inspect_says_what_it_is(void **state) {
    char line[1024];
    (void)state;
    snprintf(line, sizeof line, "inspect %s --json", in_dir("files.frd"));
    if (run_line(&got, line)) fail_msg("%s", got.err);
    json_t *root = json_loads(got.out, 0, NULL);
    const json_t *store = json_object_get(root, "datastore");
    assert_int_equal(json_integer_value(json_object_get(store, "texts")), 6);
    assert_int_equal(json_integer_value(json_object_get(store, "vocabulary_size")),
                     fr_tokenizer_size(text.tokenizer));
    json_decref(root);
    snprintf(line, sizeof line, "inspect %s", in_dir("files.frd"));
    assert_int_equal(run_line(&got, line), 0);
    assert_non_null(strstr(got.out, "a datastore"));
    assert_int_equal(truncate(in_dir("files.frd"), 200), 0);
    assert_int_equal(run_line(&got, line), 1);
    assert_non_null(strstr(got.err, "files.frd: expected"));
}

// The largest that is whole and of the model's vocabulary, under a name that holds in any folder.
static void tune_tries_the_one_beside_the_model(void **state) {
    char line[1024], want[PATH_MAX + 40], whole[PATH_MAX], cache[PATH_MAX + 40];
    fr_error err;
    static char junk[1 << 16];
    (void)state;
    assert_int_equal(mkdir(in_dir("beside"), 0700), 0);
    assert_int_equal(symlink("../model.gguf", in_dir("beside/model.gguf")), 0);
    write_text("short.txt", "a short text", false);
    write_text("longer.txt", "a text that is longer than the other one and says no more", false);
    write_file("beside/junk.frd", junk, sizeof junk, false);
    assert_int_equal(build(in_dir("short.txt"), "beside/short.frd"), 0);
    assert_int_equal(build(in_dir("longer.txt"), "beside/longer.frd"), 0);
    const fr_tiny_options other = {.n_ctx = 512, .n_layer = 1, .spm = true};
    assert_int_equal(fr_tiny_write(&other, in_dir("other.gguf"), &err), FR_OK);
    write_text(
        "largest.txt",
        "a text that is by far the longest of all, and in the words of a model that has another "
        "vocabulary, whose numbers mean other tokens here, so that it is of no use",
        false);
    snprintf(line, sizeof line, "datastore -m %s --data %s -o %s -q", in_dir("other.gguf"),
             in_dir("largest.txt"), in_dir("beside/largest.frd"));
    if (run_line(&got, line)) fail_msg("%s", got.err);
    assert_non_null(realpath(dir, whole));
    snprintf(cache, sizeof cache, "%s/cache", whole);
    keep_cache_in(cache);
    snprintf(line, sizeof line, "tune -m %s --limit 1 -n 8 --json --quiet",
             in_dir("beside/model.gguf"));
    const int code = run_line(&got, line);
    keep_cache_in(NULL);
    if (code) fail_msg("%s", got.err);
    assert_non_null(realpath(in_dir("beside/longer.frd"), whole));
    snprintf(want, sizeof want, "rest:%s+prompt-lookup", whole);
    json_t *root = json_loads(got.out, 0, NULL);
    const char *profile = json_string_value(json_object_get(root, "profile"));
    assert_memory_equal(profile, cache, strlen(cache));
    const json_t *drafters = json_object_get(root, "drafters");
    assert_int_equal(json_array_size(drafters), 2);
    const json_t *last = json_array_get(drafters, 1);
    assert_string_equal(json_string_value(json_object_get(last, "drafter")), want);
    assert_null(json_object_get(last, "error"));
    json_decref(root);
}

// One that was named by a path of this folder is kept by its whole path.
static void tune_keeps_whole_paths(void **state) {
    char line[1024], want[PATH_MAX + 40], whole[PATH_MAX], cache[PATH_MAX + 40];
    (void)state;
    assert_non_null(realpath(dir, whole));
    snprintf(cache, sizeof cache, "%s/cache", whole);
    snprintf(want, sizeof want, "prompt-lookup+rest:%s/beside/short.frd", whole);
    snprintf(line, sizeof line, "tune -m %s --limit 1 -n 8 --json --quiet --drafter %s:%s",
             in_dir("model.gguf"), "prompt-lookup+rest", in_dir("beside/short.frd"));
    keep_cache_in(cache);
    const int code = run_line(&got, line);
    keep_cache_in(NULL);
    if (code) fail_msg("%s", got.err);
    json_t *root = json_loads(got.out, 0, NULL);
    const json_t *one = json_array_get(json_object_get(root, "drafters"), 0);
    assert_string_equal(json_string_value(json_object_get(one, "drafter")), want);
    json_decref(root);
    char name[600];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    snprintf(line, sizeof line, "tune -m %s --drafter rest:%s", in_dir("model.gguf"), name);
    assert_int_equal(run_line(&got, line), 2);
    assert_non_null(strstr(got.err, "expected at most 511 bytes with whole paths"));
}

// ---------------------------------------------------------------- how it ends

static void write_large(const char *name) {
    const size_t n = 1 << 20;
    char *words = malloc(n);
    uint32_t r = 1;
    for (size_t i = 0; i < n; i++) {
        r = r * 1664525 + 1013904223;
        words[i] = r >> 28 ? (char)('a' + (r >> 24) % 7) : ' ';
    }
    write_file(name, words, n, false);
    free(words);
}

static pid_t start_build(const char *data, const char *store) {
    fflush(NULL);
    const pid_t child = fork();
    if (child) return child;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) _exit(127);
    execl(FR_PROGRAM, "forerun", "datastore", "-m", in_dir("model.gguf"), "--data", data, "-o",
          store, (char *)NULL);
    _exit(127);
}

static unsigned microseconds_of_a_build(void) {
    struct timespec a, b;
    int status;
    clock_gettime(CLOCK_MONOTONIC, &a);
    waitpid(start_build(in_dir("large.txt"), in_dir("killed/s.frd")), &status, 0);
    clock_gettime(CLOCK_MONOTONIC, &b);
    assert_int_equal(status, 0);
    return (unsigned)((b.tv_sec - a.tv_sec) * 1000000 + (b.tv_nsec - a.tv_nsec) / 1000) + 1;
}

// The store at all times is the one before, or the whole new one. The first child is killed at
// once, the others at any time up to that of a whole build.
static void killed_at_any_time_it_is_whole(void **state) {
    int old = 0;
    (void)state;
    write_large("large.txt");
    mkdir(in_dir("killed"), 0777);
    const unsigned whole = microseconds_of_a_build();
    srand((unsigned)getpid());
    print_message("seed %d\n", (int)getpid());
    for (int i = 0; i < 12; i++) {
        fr_datastore s;
        fr_error err = {0};
        int status;
        if (build(in_dir("c.txt"), "killed/s.frd")) fail_msg("%s", got.err);
        const pid_t child = start_build(in_dir("large.txt"), in_dir("killed/s.frd"));
        usleep(i ? (unsigned)rand() % whole : 0);
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        if (fr_datastore_open(&s, in_dir("killed/s.frd"), &err)) fail_msg("%s", err.text);
        old += s.bytes < 10000;
        fr_datastore_close(&s);
    }
    assert_true(old > 0);
}

static void an_interrupt_leaves_nothing(void **state) {
    char line[1024];
    (void)state;
    mkdir(in_dir("stopped"), 0777);
    snprintf(line, sizeof line, "datastore -m %s --data %s -o %s", in_dir("model.gguf"),
             in_dir("large.txt"), in_dir("stopped/s.frd"));
    for (int ms = 5; ms < 20000; ms += 2 + ms / 8) {
        run_with(&got, line, "", 0, ms, NULL);
        if (got.code != 1000 + SIGINT) break; // else it did not listen yet
        assert_int_equal(files_in(in_dir("stopped")), 0);
    }
    assert_int_equal(got.code, 130);
    assert_int_equal(files_in(in_dir("stopped")), 0);
}

static void a_full_disk_is_a_sentence(void **state) {
    struct rlimit before;
    (void)state;
    mkdir(in_dir("full"), 0777);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    const struct rlimit little = {4096, before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &little), 0);
    const int code = build(in_dir("large.txt"), "full/s.frd");
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(code, 1);
    assert_int_equal(complaints_in(got.err), 1);
    assert_non_null(strstr(got.err, "full/s.frd"));
    assert_int_equal(files_in(in_dir("full")), 0);
}

static void bad_requests_say_why(void **state) {
    static const struct {
        const char *line, *why;
        int code;
    } bad[] = {
        {"datastore --data x -o y", "-m", 2},
        {"datastore -m model.gguf -o y", "--data", 2},
        {"datastore -m model.gguf --data x", "-o", 2},
        {"datastore -m model.gguf --data nowhere.txt -o y", "nowhere.txt", 1},
        {"datastore -m model.gguf --data empty.txt -o y", "y: no text", 1},
        {"datastore -m model.gguf --data bad.jsonl -o y", "bad.jsonl, line 2", 1},
        {"datastore -m model.gguf --data worse.jsonl -o y", "worse.jsonl, line 1", 1},
        {"datastore -m model.gguf --data cut.txt.gz -o y", "cut.txt.gz", 1},
        {"datastore -m model.gguf --data empty.txt -o nowhere/y", "nowhere/y", 1},
        {"datastore -m none.gguf --data empty.txt -o y", "none.gguf", 1},
        {"run -m model.gguf -p x --drafter rest", "rest", 2},
        {"run -m model.gguf -p x --drafter rest:empty.txt", "not a datastore", 1},
    };
    char here[4096], line[512];
    (void)state;
    write_text("empty.txt", "", false);
    write_text("bad.jsonl", "{\"text\":\"a b\"}\n{\"texts\":1}\n", false);
    write_text("worse.jsonl", "{\"messages\":[{\"role\":7}]}\n", false);
    write_text("cut.txt.gz", "\x1f\x8b\x08", false);
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(chdir(dir), 0);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(line, sizeof line, "%s", bad[i].line);
        run_line(&got, line);
        if (got.code != bad[i].code || !strstr(got.err, bad[i].why) ||
            (got.code == 1 && complaints_in(got.err) != 1) || access("y", F_OK) == 0)
            fail_msg("%s: exit %d, %s", bad[i].line, got.code, got.err);
    }
    assert_int_equal(chdir(here), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(files_of_every_kind_are_read),
                                       cmocka_unit_test(folders_give_all_their_texts_in_order),
                                       cmocka_unit_test(shards_give_their_conversations),
                                       cmocka_unit_test(inspect_says_what_it_is),
                                       cmocka_unit_test(tune_tries_the_one_beside_the_model),
                                       cmocka_unit_test(tune_keeps_whole_paths),
                                       cmocka_unit_test(killed_at_any_time_it_is_whole),
                                       cmocka_unit_test(an_interrupt_leaves_nothing),
                                       cmocka_unit_test(a_full_disk_is_a_sentence),
                                       cmocka_unit_test(bad_requests_say_why)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
