// `doctor` from outside, on this machine.
#define _GNU_SOURCE
#include "../program.h"
#include "base/cpus.h"
#include "support/home.h"
#include "support/open_model.h"
#include "support/tiny_pack.h"

static said s;
static char line[PATH_MAX + 64], model_path[PATH_MAX];

static int set_up(void **state) {
    (void)state;
    fr_error err = {0};
    home_begin();
    snprintf(model_path, sizeof model_path, "%s", at_home("m.gguf"));
    return fr_tiny_write(&(fr_tiny_options){.type = FR_TYPE_Q8_0}, model_path, &err);
}

static int tear_down(void **state) {
    (void)state;
    home_end();
    return 0;
}

static json_t *document(const char *rest) {
    json_error_t error;
    snprintf(line, sizeof line, "doctor --json %s", rest);
    assert_int_equal(run_line(&s, line), 0);
    assert_int_equal(s.n_err, 0);
    json_t *root = json_loads(s.out, JSON_REJECT_DUPLICATES, &error);
    if (!root) fail_msg("not JSON: %.200s", s.out);
    return root;
}

static const char *with_model(void) {
    static char text[PATH_MAX + 8];
    snprintf(text, sizeof text, "-m %s", model_path);
    return text;
}

static void the_machine_is_as_the_library_reads_it(void **state) {
    (void)state;
    fr_cpus cpus;
    const char *cpu;
    char name[128];
    int usable;
    json_t *root = document(""), *model, *sets;
    double one, all;
    assert_int_equal(json_unpack(root, "{s:{s:s, s:i, s:o, s:{s:F, s:F}}, s:o}", "machine", "cpu",
                                 &cpu, "usable_cores", &usable, "instruction_sets", &sets, "memory",
                                 "read_gb_s_one_thread", &one, "read_gb_s", &all, "model", &model),
                     0);
    fr_cpus_read(&cpus);
    fr_cpu_name(name, sizeof name);
    assert_string_equal(cpu, name);
    assert_int_equal(usable, cpus.n_cores);
    assert_string_equal(json_string_value(json_array_get(sets, 0)), "scalar");
    assert_true(one > 0 && all > 0);
    assert_true(json_is_null(model));
    json_decref(root);
}

static void advises(const json_t *root, const char *about, bool wanted) {
    size_t i;
    json_t *item;
    bool found = false;
    json_array_foreach(json_object_get(root, "advice"), i, item) found |=
        !strcmp(json_string_value(json_object_get(item, "about")), about);
    if (found != wanted) fail_msg("%s: %s", about, s.out);
}

// A pack for the tiny model, beside it.
static void put_pack(void) {
    fr_error err = {0};
    fr_gguf *g;
    fr_model model;
    fr_pool *pool;
    const fr_kern *kern;
    char path[PATH_MAX];
    const char *packs = at_home("packs/p.gguf");
    assert_int_equal(fr_make_folders(packs, 0777, &err), FR_OK);
    assert_int_equal(fr_gguf_open(&g, model_path, &err), FR_OK);
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
}

static void a_model_is_told_with_its_packs_and_profile(void **state) {
    (void)state;
    json_t *root = document(with_model()), *profile;
    advises(root, "packs", true);
    advises(root, "tuning", true);
    assert_true(json_is_null(json_object_get(json_object_get(root, "model"), "profile")));
    json_decref(root);

    put_pack();
    snprintf(line, sizeof line, "tune -m %s -q -n 8 --limit 1 --drafter prompt-lookup", model_path);
    assert_int_equal(run_line(&s, line), 0);
    root = document(with_model());
    advises(root, "packs", false);
    const json_t *pack =
        json_array_get(json_object_get(json_object_get(root, "packs"), "found"), 0);
    assert_string_equal(json_string_value(json_object_get(pack, "drafter")), "medusa");
    assert_true(json_is_true(json_object_get(pack, "fits")));
    profile = json_object_get(json_object_get(root, "model"), "profile");
    assert_true(json_real_value(json_object_get(profile, "ms_1_row")) > 0);
    assert_int_equal(json_integer_value(json_object_get(profile, "drafters")), 1);
    json_decref(root);
    snprintf(line, sizeof line, "doctor %s", with_model());
    assert_int_equal(run_line(&s, line), 0);
    assert_non_null(strstr(s.out, "For this model"));
    assert_non_null(strstr(s.out, "1 drafter; "));
}

static void models_that_cannot_be_run_are_told(void **state) {
    (void)state;
    put_text(at_home("b.gguf"), "GGUF but no more");
    snprintf(line, sizeof line, "-m %s", at_home("b.gguf"));
    char rest[PATH_MAX];
    snprintf(rest, sizeof rest, "%s", line);
    json_t *root = document(rest);
    advises(root, "model", true);
    json_decref(root);
    assert_int_equal(run_line(&s, "doctor -m /nonexistent.gguf"), 1);
    assert_int_equal(lines_in(s.err), 1);
    assert_int_equal(run_line(&s, "doctor extra"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_machine_is_as_the_library_reads_it),
        cmocka_unit_test(a_model_is_told_with_its_packs_and_profile),
        cmocka_unit_test(models_that_cannot_be_run_are_told),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
