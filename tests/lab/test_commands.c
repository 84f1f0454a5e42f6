// test_commands.c — the commands of forerun-lab.
#include "base/lock.h"
#include "cmd/program.h"
#include "lab/tiny_folder.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static said s;
static char line[512];

static int set_up(void **state) {
    (void)state;
    if (!make_folder()) return -1;
    FILE *f = fopen(in_folder("asked.jsonl"), "w");
    if (!f) return -1;
    fputs("{\"id\":\"a\",\"messages\":[{\"role\":\"user\",\"content\":\"the wind\"}]}\n", f);
    fclose(f);
    if (!(f = fopen(in_folder("many.jsonl"), "w"))) return -1;
    for (int i = 0; i < 12; i++)
        fprintf(f,
                "{\"id\": \"p-%d\", \"messages\": [{\"role\": \"user\", \"content\": \"%d?\"}]}\n",
                i, i);
    fclose(f);
    const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_layer = 2};
    return write_tiny(&tiny);
}

static void expect(int code, const char *sentence) {
    run_line(&s, line);
    if (s.code != code || !strstr(s.err, sentence) || (code && complaints_in(s.err) != 1))
        fail_msg("%s: exit %d, %s", line, s.code, s.err);
    if (code && s.n_out) fail_msg("%s: printed %s", line, s.out);
}

static void its_own_commands_help(void **state) {
    static const char *const names[] = {"adopt", "hits", "requantize", "similarity", "train"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(line, sizeof line, "%s --help", names[i]);
        expect(0, "");
        assert_non_null(strstr(s.out, "Example:\n"));
        assert_non_null(strstr(s.out, "forerun-lab "));
    }
    assert_int_equal(run_line(&s, "--version"), 0);
    assert_string_equal(s.out, "forerun-lab " FR_VERSION "\n");
}

static void similarity_is_of_drafters_that_attach_rows(void **state) {
    (void)state;
    snprintf(line, sizeof line, "similarity -m %s/tiny.gguf", folder);
    expect(2, "--prompts");
    snprintf(line, sizeof line,
             "similarity -m %s/tiny.gguf -t 1 --drafter prompt-lookup --prompts %s/asked.jsonl",
             folder, folder);
    expect(2, "expected one whose guesses are rows attached");
    snprintf(line, sizeof line,
             "similarity -m %s/tiny.gguf -t 1 --prompts %s/asked.jsonl --force --plot %s/tiny.gguf",
             folder, folder, folder);
    expect(2, "would write over -m");
}

// Rates are quotients of counts, of every kind that was proposed.
static void hits_are_counted_by_kind(void **state) {
    (void)state;
    snprintf(line, sizeof line, "hits -m %s/tiny.gguf", folder);
    expect(2, "--prompts");
    snprintf(line, sizeof line,
             "hits -m %s/tiny.gguf -t 1 --drafter prompt-lookup+lookahead --prompts %s/asked.jsonl",
             folder, folder);
    expect(2, "expected one of one part");
    snprintf(line, sizeof line, "hits -m %s/tiny.gguf -t 1 --prompts %s/many.jsonl -n 60 --json -q",
             folder, folder);
    expect(0, "");
    json_t *root = json_loads(s.out, 0, NULL);
    const json_t *kinds = json_object_get(root, "kinds");
    double tried = 0, right = 0;
    for (size_t i = 0; i < json_array_size(kinds); i++) {
        const json_t *kind = json_array_get(kinds, i);
        const double n = json_number_value(json_object_get(kind, "tried"));
        const double rate = json_number_value(json_object_get(kind, "rate"));
        assert_true(n >= 1 && rate >= 0 && rate <= 1);
        assert_true(fabs(n * rate - floor(n * rate + 0.5)) < 1e-3); // a count
        tried += n;
        right += n * rate;
    }
    assert_true(tried > 12 && right > 0 && right < tried);
    json_decref(root);
}

// A search writes a pack, with which the model says what it says without.
static void a_search_makes_a_pack_that_drafts(void **state) {
    (void)state;
    static const char *const wrong[][2] = {{"search=wild", "search=greedy or bayes"},
                                           {"places=2", "places=4 to 256"}};
    static char plain[SAID_MOST];
    for (int i = 0; i < 2; i++) {
        snprintf(line, sizeof line,
                 "train layer-skip -m %s/tiny.gguf --data %s/asked.jsonl -o %s/p --steps 1 -t 1 "
                 "--set %s",
                 folder, folder, folder, wrong[i][0]);
        expect(2, wrong[i][1]);
    }
    snprintf(line, sizeof line,
             "train layer-skip -m %s/tiny.gguf --data %s/many.jsonl --tokens 400 --steps 3 "
             "-o %s/skip.gguf -t 1 --vocab 320 --json -q",
             folder, folder, folder);
    expect(0, "");
    assert_non_null(strstr(s.out, "\"judgements\":3"));
    snprintf(line, sizeof line, "inspect %s/skip.gguf", folder);
    expect(0, "");
    assert_non_null(strstr(s.out, "forerun-lab train layer-skip -m tiny.gguf"));
    snprintf(line, sizeof line, "run -m %s/tiny.gguf -p 77? -n 40 --drafter none --json", folder);
    expect(0, "");
    const char *text = strstr(s.out, "\"tokens\"");
    assert_non_null(text);
    snprintf(plain, sizeof plain, "%.*s", (int)strcspn(text, "]"), text);
    snprintf(line, sizeof line,
             "run -m %s/tiny.gguf -p 77? -n 40 --drafter layer-skip:%s/skip.gguf --no-adapt --json",
             folder, folder);
    expect(0, "");
    assert_non_null(strstr(s.out, plain));
}

static void a_search_refuses_what_only_learning_has(void **state) {
    (void)state;
    static const char *const options[] = {
        "--lr 0.1",     "--lr-end 0.1",   "--depth 2",  "--accumulate 2",      "--average 0.1",
        "--shares 100", "--judgements 3", "--type f32", "--checkpoint-every 9"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        snprintf(line, sizeof line,
                 "train layer-skip -m %s/tiny.gguf --data %s/asked.jsonl -o %s/p --steps 1 %s",
                 folder, folder, folder, options[i]);
        expect(2, "is an option of drafters that are learned");
    }
    snprintf(line, sizeof line,
             "train layer-skip -m %s/nowhere.gguf --data %s/asked.jsonl -o %s/p --steps 1 --resume",
             folder, folder, folder);
    expect(2, "a search is not gone on with");
}

static int tensors_of(const char *type) {
    char name[16];
    int n = 0;
    snprintf(name, sizeof name, "\"%s\"", type);
    for (const char *at = s.out; (at = strstr(at, name)); at++)
        n++;
    return n;
}

// Rows of 576 are no blocks of 256, so only those of 1536 become a K-quant.
static void a_pack_is_made_smaller(void **state) {
    (void)state;
    const char *pack = FR_SOURCE_DIR "/packs/smollm2-135m-eagle.gguf";
    snprintf(line, sizeof line, "inspect %s --json", pack);
    expect(0, "");
    const int matrices = tensors_of("q8_0"), vectors = tensors_of("f32");
    assert_true(matrices > 5);
    snprintf(line, sizeof line, "requantize --init %s --type q4_k -o %s/small.gguf", pack, folder);
    expect(0, "");
    snprintf(line, sizeof line, "inspect %s/small.gguf --json", folder);
    expect(0, "");
    assert_int_equal(tensors_of("q4_k"), 1);
    assert_int_equal(tensors_of("q8_0"), matrices - 1);
    assert_int_equal(tensors_of("f32"), vectors);
    snprintf(line, sizeof line,
             "requantize --init %s --type f32 --only blk.0.attn_q -o %s/small.gguf", pack, folder);
    expect(0, "");
    snprintf(line, sizeof line, "inspect %s/small.gguf --json", folder);
    expect(0, "");
    assert_int_equal(tensors_of("f32"), vectors + 1);
}

static void a_name_that_no_matrix_has_is_refused(void **state) {
    static const char *const names[] = {"meduza", "blk.0.attn_q,meduza", "blk.0.attn_norm", ","};
    const char *pack = FR_SOURCE_DIR "/packs/smollm2-135m-eagle.gguf";
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(line, sizeof line, "requantize --init %s --only %s -o %s/none.gguf", pack,
                 names[i], folder);
        expect(2, i < 2 ? "found 'meduza'" : "expected beginnings of matrices' names, such as");
        assert_int_not_equal(access(in_folder("none.gguf"), F_OK), 0);
    }
}

static void what_is_no_pack_is_refused(void **state) {
    (void)state;
    const char *pack = FR_SOURCE_DIR "/packs/smollm2-135m-eagle.gguf";
    snprintf(line, sizeof line, "requantize --init %s", pack);
    expect(2, "-o: a PACK to write is needed");
    snprintf(line, sizeof line, "requantize --init %s -o %s", pack, pack);
    expect(2, "would write over --init");
    snprintf(line, sizeof line, "requantize --init %s/tiny.gguf -o %s/small.gguf", folder, folder);
    expect(1, "expected a pack");
    snprintf(line, sizeof line, "requantize --init %s -o %s/tiny.gguf", pack, folder);
    expect(1, "expected a pack");
}

// Makes a pack in the folder; its path is a template.
static void make_pack(char *path, bool broken) {
    const fr_tiny_options tiny = {.type = FR_TYPE_Q8_0, .n_layer = 2};
    fr_opened target;
    fr_opened_open(&target, &tiny, &fr_kern_scalar, 1);
    fr_tiny_pack_write(path, &(fr_tiny_pack){.form = &fr_eagle_form, .broken = broken},
                       &target.model);
    fr_opened_close(&target);
}

static void flip_last_byte(const char *path) {
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    const int c = getc(f);
    assert_int_equal(fseek(f, -1, SEEK_END), 0);
    putc(c ^ 1, f);
    fclose(f);
}

// Else the new checksum would say that all is well.
static void damaged_packs_are_refused(void **state) {
    (void)state;
    static const char *const sentence[] = {"damaged: expected", "expected finite values, found"};
    for (int broken = 0; broken < 2; broken++) {
        char path[96];
        snprintf(path, sizeof path, "%s/pack-XXXXXX", folder);
        make_pack(path, broken);
        if (!broken) flip_last_byte(path);
        snprintf(line, sizeof line, "requantize --init %s -o %s/new.gguf", path, folder);
        expect(1, sentence[broken]);
        assert_int_not_equal(access(in_folder("new.gguf"), F_OK), 0);
    }
}

// A pack of one model drafts for another of its shape, and for no other.
static void a_pack_is_adopted_by_another_model(void **state) {
    (void)state;
    char path[96];
    const fr_tiny_options other = {.type = FR_TYPE_Q8_0, .n_layer = 2, .seed = 9, .n_expert = 4},
                          wide = {.type = FR_TYPE_Q8_0, .n_layer = 2, .d = 96};
    fr_error err;
    assert_int_equal(fr_tiny_write(&other, in_folder("other.gguf"), &err), FR_OK);
    snprintf(path, sizeof path, "%s/pack-XXXXXX", folder);
    make_pack(path, false);
    const char *run = "run -m %s/other.gguf -p abc -n 4 -t 1 -q --drafter eagle:%s";
    snprintf(line, sizeof line, run, folder, path);
    expect(1, "was trained for another model");
    snprintf(line, sizeof line, "adopt --init %s -m %s/other.gguf -o %s/its.gguf", path, folder,
             folder);
    expect(0, "");
    snprintf(line, sizeof line, run, folder, in_folder("its.gguf"));
    expect(0, "");
    assert_int_equal(fr_tiny_write(&wide, in_folder("wide.gguf"), &err), FR_OK);
    snprintf(line, sizeof line, "adopt --init %s -m %s/wide.gguf -o %s/none.gguf", path, folder,
             folder);
    expect(1, "the pack is for a model of width 64 with");
    assert_int_not_equal(access(in_folder("none.gguf"), F_OK), 0);
    snprintf(line, sizeof line, "adopt --init %s -o %s/none.gguf", path, folder);
    expect(2, "-m: a MODEL is needed");
}

static void an_output_has_one_writer(void **state) {
    (void)state;
    char path[96];
    fr_lock lock;
    snprintf(path, sizeof path, "%s/pack-XXXXXX", folder);
    make_pack(path, false);
    snprintf(line, sizeof line, "requantize --init %s -o %s/new.gguf", path, folder);
    assert_int_equal(fr_lock_take(&lock, in_folder("new.gguf"), NULL), FR_OK);
    expect(1, "is writing it");
    fr_lock_drop(&lock);
    expect(0, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_own_commands_help),
        cmocka_unit_test(similarity_is_of_drafters_that_attach_rows),
        cmocka_unit_test(hits_are_counted_by_kind),
        cmocka_unit_test(a_search_makes_a_pack_that_drafts),
        cmocka_unit_test(a_search_refuses_what_only_learning_has),
        cmocka_unit_test(a_pack_is_made_smaller),
        cmocka_unit_test(a_name_that_no_matrix_has_is_refused),
        cmocka_unit_test(what_is_no_pack_is_refused),
        cmocka_unit_test(a_pack_is_adopted_by_another_model),
        cmocka_unit_test(damaged_packs_are_refused),
        cmocka_unit_test(an_output_has_one_writer),
    };
    return cmocka_run_group_tests(tests, set_up, drop_folder);
}
