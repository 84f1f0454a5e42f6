// Models by name from outside: `models` lists them, -m takes their names, and what belongs to a
// model is found for it however it was called.
#define _GNU_SOURCE
#include "cmd/program.h"
#include "support/folder.h"
#include "support/home.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"

static said s, t;
static char line[4096], path[PATH_MAX];

#define SNAPSHOT(file) at_home(HUB "/models--org--repo/snapshots/" COMMIT_A "/" file)

static int set_up(void **state) {
    (void)state;
    home_begin();
    put_text(at_home(HUB "/models--org--repo/refs/main"), COMMIT_A);
    put_snapshot(HUB, "org--repo", COMMIT_A, "m-Q4_K_M.gguf", 64);
    put_ollama(".ollama/models", "registry.ollama.ai/library/smol/latest", 32);
    put_ollama(".ollama/models", "registry.ollama.ai/library/gone/latest", 0);
    put_text(at_home(".lmstudio/models/p/broken/b-Q8_0.gguf"), "GGUF but no more");
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    home_end();
    return 0;
}

static json_t *listed(const char *name) {
    json_error_t error;
    json_t *root = json_loads(s.out, JSON_REJECT_DUPLICATES, &error), *item, *found = NULL;
    size_t i;
    if (!root) fail_msg("not JSON: %.200s", s.out);
    json_array_foreach(json_object_get(root, "models"), i, item) {
        if (!strcmp(json_string_value(json_object_get(item, "name")), name))
            found = json_incref(item);
    }
    json_decref(root);
    if (!found) fail_msg("%s is not listed: %s", name, s.out);
    return found;
}

static void models_are_listed_and_damaged_ones_told(void **state) {
    (void)state;
    assert_int_equal(run_line(&s, "models --json"), 0);
    json_t *m = listed("org/repo:Q4_K_M");
    assert_true(json_is_true(json_object_get(m, "runs")));
    assert_string_equal(json_string_value(json_object_get(m, "store")), "Hugging Face");
    assert_string_equal(json_string_value(json_object_get(m, "path")), SNAPSHOT("m-Q4_K_M.gguf"));
    assert_string_equal(json_string_value(json_object_get(m, "architecture")), "llama");
    assert_string_equal(json_string_value(json_object_get(m, "quantization")), "Q8_0");
    assert_true(json_is_null(json_object_get(m, "why_not")));
    assert_true(json_integer_value(json_object_get(m, "bytes")) > 1000);
    json_decref(m);
    json_decref(listed("smol:latest"));
    m = listed("gone:latest");
    assert_true(json_is_false(json_object_get(m, "runs")));
    assert_non_null(strstr(json_string_value(json_object_get(m, "why_not")), "is not there"));
    json_decref(m);
    m = listed("p/broken:Q8_0");
    assert_true(json_is_false(json_object_get(m, "runs")));
    assert_int_equal(json_integer_value(json_object_get(m, "bytes")), 16);
    json_decref(m);
    assert_int_equal(run_line(&s, "models"), 0);
    assert_int_equal(lines_in(s.out), 4);
    assert_non_null(strstr(s.out, "Q8_0     runs\n"));
    assert_non_null(strstr(s.out, "no: "));
    assert_int_equal(s.n_err, 0);
    assert_int_equal(run_line(&s, "models --names"), 0);
    assert_string_equal(s.out, "org/repo:Q4_K_M\ngone:latest\nsmol:latest\np/broken:Q8_0\n");
    assert_int_equal(run_line(&s, "models --names --json"), 2);
    assert_int_equal(run_line(&s, "models x"), 2);
}

static void without_models_it_says_where_it_looked(void **state) {
    (void)state;
    char home[PATH_MAX];
    snprintf(home, sizeof home, "%s", home_path);
    setenv("HOME", "/nonexistent", 1);
    setenv("OLLAMA_MODELS", "/nonexistent/o", 1);
    assert_int_equal(run_line(&s, "models"), 0);
    assert_int_equal(s.n_out, 0);
    assert_non_null(strstr(s.err, "No models in /nonexistent/.cache/huggingface/hub, "));
    assert_int_equal(lines_in(s.err), 1);
    assert_int_equal(run_line(&s, "run -m nosuch -p x"), 1);
    assert_non_null(strstr(s.err, "forerun: nosuch: no such file, and no model of that name in "));
    assert_int_equal(lines_in(s.err), 1);
    setenv("HOME", home, 1);
    unsetenv("OLLAMA_MODELS");
}

// "COMMAND -m MODEL REST"
static const char *with(const char *command, const char *model, const char *rest) {
    snprintf(line, sizeof line, "%s -m %s %s", command, model, rest);
    return line;
}

static void names_run_as_their_files_do(void **state) {
    (void)state;
    static const char *const rests[][2] = {{"run", "-p hello -n 12 -t 1 -q --drafter none"},
                                           {"logits", "-p hello -t 1 --json"},
                                           {"inspect", "--json"},
                                           {"tokenize", ""}};
    for (size_t i = 0; i < sizeof rests / sizeof *rests; i++) {
        assert_int_equal(
            run_input(&s, with(rests[i][0], SNAPSHOT("m-Q4_K_M.gguf"), rests[i][1]), ""), 0);
        assert_int_equal(run_input(&t, with(rests[i][0], "org/repo", rests[i][1]), ""), 0);
        assert_string_equal(s.out, t.out);
    }
    assert_int_equal(run_line(&s, "inspect smol"), 0);
    assert_non_null(strstr(s.out, "blobs/sha256-"));
    assert_int_equal(run_line(&s, with("run", "gone", "-p x")), 1);
    assert_non_null(strstr(s.err, "is not there"));
    assert_int_equal(run_line(&s, with("run", "smoll", "-p x")), 1);
    assert_non_null(strstr(s.err, "near: smol:latest"));
    assert_int_equal(run_line(&s, with("run", at_home(HUB), "-p x")), 1);
    assert_non_null(strstr(s.err, "is a folder without a model"));
}

// A pack beside the link, and one profile, whatever the model is called.
static void what_belongs_to_a_model_is_found_by_any_name(void **state) {
    (void)state;
    fr_error err = {0};
    fr_gguf *g;
    fr_model model;
    fr_pool *pool;
    const fr_kern *kern;
    const char *packs = SNAPSHOT("packs/p.gguf");
    assert_int_equal(fr_make_folders(packs, 0777, &err), FR_OK);
    assert_int_equal(fr_gguf_open(&g, SNAPSHOT("m-Q4_K_M.gguf"), &err), FR_OK);
    assert_int_equal(fr_kern_pick(&kern, NULL, &err), FR_OK);
    assert_int_equal(fr_pool_open(&pool, 1, &err), FR_OK);
    assert_int_equal(fr_model_open(&model, g, kern, pool, FR_WEIGHTS_PACKED, NULL, NULL, &err),
                     FR_OK);
    snprintf(path, sizeof path, "%s", at_home("packXXXXXX"));
    fr_tiny_pack_write(path, &(fr_tiny_pack){.form = &fr_medusa_form}, &model);
    fr_model_close(&model);
    fr_pool_close(pool);
    fr_gguf_close(g);
    assert_int_equal(rename(path, packs), 0);
    const char *const names[] = {SNAPSHOT("m-Q4_K_M.gguf"), "org/repo", "org/repo:q4_k_m"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(
            run_line(&s, with("run", names[i], "-p hello -n 12 -t 1 --drafter medusa --json")), 0);
        assert_non_null(strstr(s.out, "\"used\":\"medusa"));
        assert_int_equal(files_in(at_home(".cache/forerun")), 1);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(models_are_listed_and_damaged_ones_told),
        cmocka_unit_test(without_models_it_says_where_it_looked),
        cmocka_unit_test(names_run_as_their_files_do),
        cmocka_unit_test(what_belongs_to_a_model_is_found_by_any_name),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
