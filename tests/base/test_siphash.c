// SipHash-1-3 against CPython, which hashes bytes by it. The values are those of
// hash(bytes(range(n))) & (2**64 - 1). With PYTHONHASHSEED=0 the key is 0. With PYTHONHASHSEED=1 it is
// 16 bytes (x >> 16) & 255 of the sequence x = x * 214013 + 2531011, which begins at 1.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/siphash.h"

static void hashes_are_those_of_cpython(void **state) {
    (void)state;
    static const struct {
        size_t n;
        uint64_t of[2]; // by key
    } known[] = {
        {1, {0x68a914128e01e473, 0xecd3e5afcecda4b9}},
        {2, {0x010bac45c41e3669, 0xbf360f1ea1745965}},
        {7, {0x2f098ab0c751325a, 0xfd15e78052a69ddf}},
        {8, {0xead411e67ebe2eea, 0xc0b5739e7e28dd01}},
        {9, {0x75927f9d95124362, 0x208a1a5a0cbbf778}},
        {15, {0xf30eb725bb91c9ea, 0xfa87985f39e97a53}},
        {16, {0x8972188433a5c5b7, 0x12e9d283f9f37002}},
        {31, {0x169739443111d49b, 0xb8c17103f21d8810}},
        {63, {0x385d3e39e5f37359, 0x542052345bc68274}},
    };
    uint8_t bytes[64], drawn[16];
    uint64_t key[2][2] = {{0}};
    uint32_t x = 1;
    for (int i = 0; i < 64; i++)
        bytes[i] = (uint8_t)i;
    for (int i = 0; i < 16; i++) {
        x = x * 214013 + 2531011;
        drawn[i] = (uint8_t)(x >> 16);
    }
    memcpy(key[1], drawn, sizeof drawn);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (int k = 0; k < 2; k++)
            assert_true(fr_siphash13(key[k], bytes, known[i].n) == known[i].of[k]);
}

static void a_process_keeps_its_key(void **state) {
    (void)state;
    const uint64_t zero[2] = {0};
    assert_true(fr_secret_hash("abc", 3) == fr_secret_hash("abc", 3));
    assert_true(fr_secret_hash("abc", 3) != fr_secret_hash("abd", 3));
    assert_true(fr_secret_hash("", 0) != fr_siphash13(zero, "", 0)); // one key in 2^64 fails this
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hashes_are_those_of_cpython),
        cmocka_unit_test(a_process_keeps_its_key),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
