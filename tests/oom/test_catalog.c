// Memory that cannot be had while models are looked for: a status with a sentence, everything given
// back.
#include "catalog/catalog.h"
#include "oom/counted.h"
#include "support/home.h"

static fr_status live(fr_error *err) {
    const fr_catalog_item *item;
    char name[FR_CATALOG_NAME];
    fr_catalog c;
    fr_status st = fr_catalog_open(&c, err);
    if (!st) st = fr_catalog_find(&c, "org/repo", &item, err);
    if (!st) fr_catalog_name(&c, item, name);
    if (!st) assert_string_equal(name, "org/repo:Q4_0");
    fr_catalog_close(&c);
    return st;
}

static void looking_gives_everything_back(void **state) {
    (void)state;
    int refused = 0, n = 1;
    home_begin();
    put_snapshot(HUB, "org--repo", COMMIT_A, "m-Q4_0.gguf", 32);
    put_ollama(".ollama/models", "registry.ollama.ai/library/smol/latest", 32);
    put_text(at_home(".cache/llama.cpp/manifest=a=b=latest.json"), "{}");
    put_model(at_home(".cache/llama.cpp/a_b_c.gguf"), 32);
    put_model(at_home(".lmstudio/models/o/r/m-Q8_0.gguf"), 32);
    for (;; n++) {
        const long before = counted_live();
        fr_error err = {0};
        counted_fail(n, false);
        const fr_status st = live(&err);
        const int failures = counted_failures();
        counted_fail(0, false);
        assert_int_equal(counted_live(), before);
        refused += st != FR_OK;
        if (st && st != FR_ENOMEM) fail_msg("call %d: %s", n, err.text);
        if (st) assert_true(err.text[0]);
        if (!failures) break;
    }
    print_message("%d calls, %d refusals\n", n, refused);
    assert_true(refused > 5);
    home_end();
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(looking_gives_everything_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
