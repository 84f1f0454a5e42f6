// fr_model_find: what forerun.h says of names is what -m means.
#include "forerun.h"
#include "support/home.h"

static fr_error err;

static void a_name_is_the_file_that_another_program_put_there(void **state) {
    (void)state;
    char path[PATH_MAX] = "";
    home_begin();
    put_snapshot(HUB, "Org--Repo-GGUF", COMMIT_A, "repo-Q4_K_M.gguf", 32);
    assert_int_equal(fr_model_find(path, sizeof path, "org/repo-gguf", &err), FR_OK);
    assert_string_equal(
        path, at_home(HUB "/models--Org--Repo-GGUF/snapshots/" COMMIT_A "/repo-Q4_K_M.gguf"));
    put_model(at_home("models/a.gguf"), 32);
    assert_int_equal(fr_model_find(path, sizeof path, at_home("models"), &err), FR_OK);
    assert_string_equal(path, at_home("models/a.gguf"));
    assert_int_equal(fr_model_find(path, sizeof path, "org/none", &err), FR_EIO);
    assert_non_null(strstr(err.text, "org/none"));
    home_end();
}

static void a_path_that_does_not_fit_is_an_error(void **state) {
    (void)state;
    char path[8] = "abcdefg";
    assert_int_equal(fr_model_find(path, sizeof path, "./a.gguf", &err), FR_EARG);
    assert_string_equal(path, "abcdefg");
    assert_int_equal(fr_model_find(path, sizeof path, "./a.ggu", &err), FR_OK);
    assert_string_equal(path, "./a.ggu");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_is_the_file_that_another_program_put_there),
        cmocka_unit_test(a_path_that_does_not_fit_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
