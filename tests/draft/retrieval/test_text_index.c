// The index of a text against a search through all of it.
#include "draft/retrieval/text_index.h"
#include "support/damage.h"
#include "tree/dice.h"
#include <string.h>

enum { CTX = 400 };

static bool stands_before(const int32_t *ids, int n, int place, int length) {
    return place >= length &&
           !memcmp(ids + place - length, ids + n - length, sizeof *ids * (size_t)length);
}

// Every place behind the last `length` tokens is in the chain, the newest first.
static void expect_all(const fr_text_index *x, const int32_t *ids, int n, int length) {
    int at = fr_text_index_newest(x, ids, n, length);
    for (int place = n - 1; place >= length; place--) {
        if (!stands_before(ids, n, place, length)) continue;
        while (at > place) // others of the same hash
            at = fr_text_index_older(x, at, length);
        assert_int_equal(at, place);
    }
    while (at)
        at = fr_text_index_older(x, at, length); // the chain ends
}

static void every_earlier_place_is_found(void **state) {
    (void)state;
    fr_text_index x;
    fr_error err;
    int32_t ids[CTX];
    dice_begin(17);
    assert_int_equal(fr_text_index_open(&x, CTX, &err), FR_OK);
    for (int text = 0; text < 6; text++) {
        const int kinds = 2 + text;
        fr_text_index_begin(&x);
        for (int n = 0; n < CTX;) {
            const int more = n + 1 + dice_below(7);
            for (; n < more && n < CTX; n++)
                ids[n] = dice_below(kinds);
            fr_text_index_add(&x, ids, n);
            for (int length = 1; length <= FR_TEXT_INDEX_LONGEST && length <= n; length++)
                expect_all(&x, ids, n, length);
        }
        assert_true(fr_text_index_is_sound(&x));
    }
    fr_text_index_close(&x);
}

static void the_check_of_an_index_finds_damage(void **state) {
    (void)state;
    fr_text_index x;
    fr_error err;
    const int32_t ids[] = {1, 2, 1, 2, 1, 2};
    assert_int_equal(fr_text_index_open(&x, 10, &err), FR_OK);
    fr_text_index_add(&x, ids, 6);
    assert_noticed(x.n_indexed, -1, fr_text_index_is_sound(&x));
    assert_noticed(x.n_indexed, 12, fr_text_index_is_sound(&x));
    assert_noticed(x.n_indexed, 5, fr_text_index_is_sound(&x));   // a bucket names place 5
    assert_noticed(x.older[0][5], 5, fr_text_index_is_sound(&x)); // a ring
    assert_noticed(x.older[1][4], -1, fr_text_index_is_sound(&x));
    assert_noticed(x.older[2][5], 2, fr_text_index_is_sound(&x)); // no room for three tokens
    assert_noticed(x.head[3][7], 6, fr_text_index_is_sound(&x));
    fr_text_index_close(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_earlier_place_is_found),
        cmocka_unit_test(the_check_of_an_index_finds_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
