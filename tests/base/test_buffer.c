#include "base/alloc.h"
#include "base/buffer.h"
#include "support/damage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void buffer_holds_what_was_added(void **state) {
    (void)state;
    fr_buffer b = {0};
    fr_error err;
    char expected[5000];
    size_t n = 0;
    for (int i = 0; n + 100 < sizeof expected; i++) {
        char piece[100];
        const size_t size = (size_t)(i * 37 % 100);
        memset(piece, i, sizeof piece);
        memcpy(expected + n, piece, size);
        n += size;
        assert_int_equal(fr_buffer_add(&b, piece, size, &err), FR_OK);
        assert_int_equal(b.n, n);
        assert_true(b.n < b.cap);
        assert_int_equal(b.data[n], 0);
        assert_memory_equal(b.data, expected, n);
    }
    fr_buffer_free(&b);
    assert_null(b.data);
    assert_int_equal(b.n + b.cap, 0);
}

static void nothing_added_is_an_empty_string(void **state) {
    (void)state;
    fr_buffer b = {0};
    assert_int_equal(fr_buffer_add(&b, NULL, 0, NULL), FR_OK);
    assert_string_equal(b.data, "");
    fr_buffer_free(&b);
}

static void reserved_room_can_be_written(void **state) {
    (void)state;
    fr_buffer b = {0};
    assert_int_equal(fr_buffer_add(&b, "abc", 3, NULL), FR_OK);
    assert_int_equal(fr_buffer_reserve(&b, 1000, NULL), FR_OK);
    assert_string_equal(b.data, "abc");
    memset(b.data + b.n, 'x', 1001); // and the NUL
    fr_buffer_free(&b);
}

static void what_cannot_be_had_changes_nothing(void **state) {
    (void)state;
    fr_buffer b = {0};
    fr_error err;
    assert_int_equal(fr_buffer_add(&b, "abc", 3, NULL), FR_OK);
    const fr_buffer before = b;
    const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 3, SIZE_MAX / 2};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(fr_buffer_reserve(&b, sizes[i], &err), FR_ENOMEM);
        assert_non_null(strstr(err.text, "no memory"));
        assert_memory_equal(&b, &before, sizeof b);
        assert_string_equal(b.data, "abc");
    }
    fr_buffer_free(&b);
}

static void lists_grow_by_items(void **state) {
    (void)state;
    void *data = NULL;
    size_t cap = 0;
    for (size_t n = 0; n < 1000; n++) {
        assert_true(fr_list_reserve(&data, &cap, n, 1, sizeof(int32_t)));
        assert_true(cap > n);
        ((int32_t *)data)[n] = (int32_t)n;
    }
    for (int32_t i = 0; i < 1000; i++)
        assert_int_equal(((int32_t *)data)[i], i);
    assert_false(fr_list_reserve(&data, &cap, 1000, SIZE_MAX / 4, sizeof(int32_t)));
    fr_free(data);
}

static void the_check_of_a_buffer_finds_damage(void **state) {
    (void)state;
    fr_error err;
    fr_buffer b = {0};
    assert_noticed(b.n, 1, fr_buffer_is_sound(&b));
    assert_noticed(b.cap, 1, fr_buffer_is_sound(&b));
    assert_int_equal(fr_buffer_add(&b, "text", 4, &err), FR_OK);
    assert_noticed(b.n, b.cap, fr_buffer_is_sound(&b)); // no room for the NUL
    assert_noticed(b.data, NULL, fr_buffer_is_sound(&b));
    fr_buffer_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_holds_what_was_added),
        cmocka_unit_test(nothing_added_is_an_empty_string),
        cmocka_unit_test(reserved_room_can_be_written),
        cmocka_unit_test(what_cannot_be_had_changes_nothing),
        cmocka_unit_test(lists_grow_by_items),
        cmocka_unit_test(the_check_of_a_buffer_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
