// Memory comes zeroed and aligned, or not at all: no count from outside can wrap.
#include "base/alloc.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool all_zero(const uint8_t *p, size_t bytes) {
    for (size_t i = 0; i < bytes; i++)
        if (p[i]) return false;
    return true;
}

static void alloc_is_zeroed_and_aligned(void **state) {
    (void)state;
    for (size_t bytes = 0; bytes < 300; bytes++) {
        uint8_t *p = fr_alloc_zero(bytes);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        assert_true(all_zero(p, bytes));
        memset(p, 0xff, bytes); // so that reused memory is dirty
        fr_free(p);
    }
    fr_free(NULL);
}

static void alloc_refuses_sizes_that_wrap(void **state) {
    (void)state;
    assert_null(fr_alloc_zero(SIZE_MAX));
    assert_null(fr_alloc_zero(PTRDIFF_MAX));
    assert_null(fr_alloc_array(SIZE_MAX / 2, 3));
    assert_null(fr_alloc_array(SIZE_MAX, SIZE_MAX));
}

static void checked_sums_and_products_are_exact(void **state) {
    (void)state;
    size_t r = 0;
    assert_true(fr_mul_size(1u << 16, 1u << 15, &r));
    assert_true(r == (size_t)1 << 31);
    assert_true(fr_mul_size(SIZE_MAX, 1, &r) && r == SIZE_MAX);
    assert_false(fr_mul_size(SIZE_MAX / 2 + 1, 2, &r));
    assert_true(fr_add_size(SIZE_MAX - 5, 5, &r) && r == SIZE_MAX);
    assert_false(fr_add_size(SIZE_MAX, 1, &r));
}

static void arena_hands_out_aligned_pieces_that_do_not_meet(void **state) {
    (void)state;
    const size_t sizes[] = {1, 64, 65, 0, 100, 4096};
    size_t total = 0;
    for (int i = 0; i < 6; i++)
        total += FR_ARENA_ROUND(sizes[i]);
    fr_arena a;
    assert_int_equal(fr_arena_open(&a, total, "test", NULL), FR_OK);
    uint8_t *end = a.base;
    for (int i = 0; i < 6; i++) {
        uint8_t *p = fr_arena_take(&a, sizes[i]);
        assert_int_equal((uintptr_t)p % 64, 0);
        assert_true(p >= end && all_zero(p, sizes[i]));
        memset(p, 0xff, sizes[i]);
        end = p + sizes[i];
    }
    assert_int_equal(a.used, total);
    fr_arena_close(&a);
    fr_arena_close(&a); // closed and half-open ones are fine
}

static void arena_says_what_did_not_fit(void **state) {
    (void)state;
    fr_arena a;
    fr_error err;
    assert_int_equal(fr_arena_open(&a, SIZE_MAX / 2, "KV cache", &err), FR_ENOMEM);
    assert_non_null(strstr(err.text, "KV cache: cannot get "));
    fr_arena_close(&a);
}

static void pages_come_zeroed(void **state) {
    (void)state;
    uint8_t *p = fr_pages_alloc(100000);
    assert_non_null(p);
    assert_true(all_zero(p, 100000));
    fr_pages_free(p, 100000);
    fr_pages_free(NULL, 100000);
    assert_null(fr_pages_alloc(SIZE_MAX / 2));
}

static void the_check_of_an_arena_finds_damage(void **state) {
    (void)state;
    fr_error err;
    fr_arena a = {0};
    assert_true(fr_arena_is_sound(&a));
    assert_int_equal(fr_arena_open(&a, 256, "test", &err), FR_OK);
    fr_arena_take(&a, 100);
    assert_noticed(a.used, 320, fr_arena_is_sound(&a));
    assert_noticed(a.used, 100, fr_arena_is_sound(&a));
    assert_noticed(a.base, NULL, fr_arena_is_sound(&a));
    fr_arena_close(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alloc_is_zeroed_and_aligned),
        cmocka_unit_test(alloc_refuses_sizes_that_wrap),
        cmocka_unit_test(checked_sums_and_products_are_exact),
        cmocka_unit_test(arena_hands_out_aligned_pieces_that_do_not_meet),
        cmocka_unit_test(arena_says_what_did_not_fit),
        cmocka_unit_test(pages_come_zeroed),
        cmocka_unit_test(the_check_of_an_arena_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
