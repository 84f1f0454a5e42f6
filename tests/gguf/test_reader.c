// test_reader.c — the reader against bytes put together here, by the format's description.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../support/gguf_touch.h"

typedef struct bytes { // one file; 8-byte aligned
    uint64_t store[512];
    size_t n;
} bytes;

static uint8_t *at(bytes *b, size_t offset) {
    return (uint8_t *)b->store + offset;
}

static void put(bytes *b, const void *data, size_t n) {
    assert_true(b->n + n <= sizeof b->store);
    if (n) memcpy(at(b, b->n), data, n);
    b->n += n;
}

static void u8(bytes *b, uint8_t v) {
    put(b, &v, 1);
}

static void u32(bytes *b, uint32_t v) {
    for (int i = 0; i < 4; i++)
        u8(b, (uint8_t)(v >> 8 * i));
}

static void u64(bytes *b, uint64_t v) {
    for (int i = 0; i < 8; i++)
        u8(b, (uint8_t)(v >> 8 * i));
}

static void text(bytes *b, const char *s) {
    u64(b, strlen(s));
    put(b, s, strlen(s));
}

static void key(bytes *b, const char *name, uint32_t type) {
    text(b, name);
    u32(b, type);
}

static void header(bytes *b, uint32_t version, uint64_t n_tensors, uint64_t n_kvs) {
    b->n = 0;
    put(b, "GGUF", 4);
    u32(b, version);
    u64(b, n_tensors);
    u64(b, n_kvs);
}

static void tensor(bytes *b, const char *name, uint32_t type, uint64_t ne0, uint64_t ne1,
                   uint64_t offset) {
    text(b, name);
    u32(b, 2);
    u64(b, ne0);
    u64(b, ne1);
    u32(b, type);
    u64(b, offset);
}

static void pad(bytes *b, size_t alignment) {
    while (b->n % alignment)
        u8(b, 0);
}

enum { N_KVS = 18 };

static void sample(bytes *b, uint32_t version) {
    header(b, version, 2, N_KVS);
    key(b, "a.u8", 0), u8(b, 200);
    key(b, "a.i8", 1), u8(b, (uint8_t)-7);
    key(b, "a.u16", 2), u8(b, 0x34), u8(b, 0x12);
    key(b, "a.i16", 3), u8(b, 0xfe), u8(b, 0xff);
    key(b, "a.u32", 4), u32(b, 4000000000u);
    key(b, "a.i32", 5), u32(b, (uint32_t)-5);
    key(b, "a.f32", 6), u32(b, 0x3fc00000); // 1.5
    key(b, "a.bool", 7), u8(b, 1);
    key(b, "a.str", 8), text(b, "h\xc3\xa9llo");
    key(b, "a.u64", 10), u64(b, 1ull << 63);
    key(b, "a.i64", 11), u64(b, (uint64_t)INT64_MIN);
    key(b, "a.f64", 12), u64(b, 0x7fe0000000000000u); // too large for a float
    key(b, "strs", 9), u32(b, 8), u64(b, 3), text(b, "one"), text(b, ""), text(b, "three");
    key(b, "ints", 9), u32(b, 5), u64(b, 2), u32(b, 7), u32(b, (uint32_t)-8);
    key(b, "floats", 9), u32(b, 6), u64(b, 1), u32(b, 0xc0000000); // -2
    key(b, "bools", 9), u32(b, 7), u64(b, 2), u8(b, 0), u8(b, 1);
    key(b, "none", 9), u32(b, 8), u64(b, 0);
    key(b, "huge", 9), u32(b, 10), u64(b, 2), u64(b, 1), u64(b, UINT64_MAX);
    tensor(b, "t.first", FR_TYPE_F32, 3, 2, 0);
    tensor(b, "t.second", FR_TYPE_Q8_0, 32, 1, 32);
    pad(b, 32);
    for (uint32_t i = 0; i < 6; i++)
        u32(b, i);
    pad(b, 32);
    for (uint8_t i = 0; i < 34; i++)
        u8(b, i);
}

static fr_gguf *opened(bytes *b) {
    fr_gguf *g;
    fr_error err = {0};
    if (fr_gguf_open_memory(&g, b->store, b->n, "sample", &err)) fail_msg("%s", err.text);
    return g;
}

static void reader_reads_hand_made_bytes(void **state) {
    (void)state;
    for (uint32_t version = 2; version <= 3; version++) {
        bytes b;
        sample(&b, version);
        fr_gguf *g = opened(&b);
        assert_int_equal(fr_gguf_version(g), version);
        assert_int_equal(fr_gguf_n_kv(g), N_KVS);
        assert_int_equal(fr_gguf_n_files(g), 1);
        assert_int_equal(fr_gguf_file_bytes(g), b.n);
        assert_true(fr_gguf_str_is(fr_gguf_kv_at(g, 2)->key, "a.u16"));
        assert_null(fr_gguf_find(g, "a.u"));
        assert_null(fr_gguf_find(g, "z"));
        const fr_gguf_kv *strs = fr_gguf_find(g, "strs");
        assert_int_equal(strs->count, 3);
        assert_true(fr_gguf_str_is(fr_gguf_item_str(strs, 0), "one"));
        assert_true(fr_gguf_str_is(fr_gguf_item_str(strs, 1), ""));
        assert_true(fr_gguf_str_is(fr_gguf_item_str(strs, 2), "three"));
        assert_int_equal(fr_gguf_n_tensors(g), 2);
        const fr_gguf_tensor *t = fr_gguf_tensor_find(g, "t.second");
        assert_ptr_equal(t, fr_gguf_tensor_at(g, 1));
        assert_int_equal(t->type, FR_TYPE_Q8_0);
        assert_int_equal(t->bytes, 34);
        assert_int_equal(t->ne[0], 32);
        assert_int_equal(t->ne[3], 1);
        assert_ptr_equal(t->data, at(&b, b.n - 34));
        t = fr_gguf_tensor_find(g, "t.first");
        assert_int_equal(((const uint8_t *)t->data)[20], 5);
        assert_null(fr_gguf_tensor_find(g, "t.third"));
        fr_gguf_close(g);
    }
}

static void getters_give_what_fits(void **state) {
    (void)state;
    bytes b;
    sample(&b, 3);
    fr_gguf *g = opened(&b);
    uint32_t u = 1;
    int32_t i = 1;
    uint64_t l = 1;
    double wide = 0;
    float f = 1;
    bool t = false;
    fr_gguf_str s;
    const fr_gguf_kv *array = NULL;
    assert_int_equal(fr_gguf_get_u32(g, "a.u8", &u, NULL), FR_OK);
    assert_int_equal(u, 200);
    assert_int_equal(fr_gguf_get_u32(g, "a.u16", &u, NULL), FR_OK);
    assert_int_equal(u, 0x1234);
    assert_int_equal(fr_gguf_get_u32(g, "a.u32", &u, NULL), FR_OK);
    assert_int_equal(u, 4000000000u);
    assert_int_equal(fr_gguf_get_i32(g, "a.i8", &i, NULL), FR_OK);
    assert_int_equal(i, -7);
    assert_int_equal(fr_gguf_get_i32(g, "a.i16", &i, NULL), FR_OK);
    assert_int_equal(i, -2);
    assert_int_equal(fr_gguf_get_i32(g, "a.i32", &i, NULL), FR_OK);
    assert_int_equal(i, -5);
    assert_int_equal(fr_gguf_get_u64(g, "a.u64", &l, NULL), FR_OK);
    assert_true(l == 1ull << 63);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "a.i64"), 0), INT64_MIN);
    assert_int_equal(fr_gguf_get_f64(g, "a.f64", &wide, NULL), FR_OK);
    assert_true(wide == 0x1p1023);
    assert_int_equal(fr_gguf_get_f32(g, "a.f32", &f, NULL), FR_OK);
    assert_true(f == 1.5f);
    assert_int_equal(fr_gguf_get_bool(g, "a.bool", &t, NULL), FR_OK);
    assert_true(t);
    assert_int_equal(fr_gguf_get_str(g, "a.str", &s, NULL), FR_OK);
    assert_true(fr_gguf_str_is(s, "h\xc3\xa9llo"));
    assert_int_equal(fr_gguf_get_array(g, "ints", FR_GGUF_INTS, &array, NULL), FR_OK);
    assert_int_equal(fr_gguf_item_i64(array, 1), -8);
    assert_int_equal(fr_gguf_get_array(g, "floats", FR_GGUF_FLOATS, &array, NULL), FR_OK);
    assert_true(fr_gguf_item_f64(array, 0) == -2);
    assert_int_equal(fr_gguf_get_array(g, "bools", FR_GGUF_BOOLS, &array, NULL), FR_OK);
    assert_true(!fr_gguf_item_bool(array, 0) && fr_gguf_item_bool(array, 1));
    assert_int_equal(fr_gguf_get_array(g, "none", FR_GGUF_STRS, &array, NULL), FR_OK);
    assert_int_equal(array->count, 0);
    u = 77; // the default of an absent key stays
    assert_int_equal(fr_gguf_opt_u32(g, "absent", &u, NULL), FR_OK);
    assert_int_equal(u, 77);
    assert_int_equal(fr_gguf_opt_u32(g, "a.u8", &u, NULL), FR_OK);
    assert_int_equal(u, 200);
    fr_gguf_close(g);
}

static void expect_error(fr_status st, const fr_error *err, fr_status code, const char *sentence) {
    assert_int_equal(st, code);
    assert_int_equal(err->code, code);
    if (!strstr(err->text, sentence)) fail_msg("expected \"%s\" in \"%s\"", sentence, err->text);
}

static void getters_say_what_they_found(void **state) {
    (void)state;
    bytes b;
    sample(&b, 3);
    fr_gguf *g = opened(&b);
    fr_error e = {0};
    uint32_t u = 5;
    int32_t i = 5;
    float f = 5;
    bool t = true;
    fr_gguf_str s = {"kept", 4};
    const fr_gguf_kv *array = NULL;
    expect_error(fr_gguf_get_u32(g, "absent", &u, &e), &e, FR_EDATA,
                 "absent: expected a u32, found nothing");
    expect_error(fr_gguf_get_u32(g, "a.str", &u, &e), &e, FR_EDATA,
                 "a.str: expected a u32, found str");
    expect_error(fr_gguf_opt_u32(g, "a.i8", &u, &e), &e, FR_EDATA,
                 "a.i8: expected a u32, found -7");
    expect_error(fr_gguf_get_u32(g, "ints", &u, &e), &e, FR_EDATA, "found an array of i32");
    expect_error(fr_gguf_get_i32(g, "a.u32", &i, &e), &e, FR_EDATA,
                 "expected an i32, found 4000000000");
    expect_error(fr_gguf_get_i32(g, "a.i64", &i, &e), &e, FR_EDATA, "found -9223372036854775808");
    expect_error(fr_gguf_get_f32(g, "a.f64", &f, &e), &e, FR_EDATA, "expected a finite f32");
    expect_error(fr_gguf_get_f32(g, "a.u8", &f, &e), &e, FR_EDATA, "expected an f32, found u8");
    expect_error(fr_gguf_get_bool(g, "a.u8", &t, &e), &e, FR_EDATA, "expected a bool, found u8");
    expect_error(fr_gguf_get_str(g, "strs", &s, &e), &e, FR_EDATA,
                 "expected a str, found an array of str");
    expect_error(fr_gguf_get_array(g, "strs", FR_GGUF_INTS, &array, &e), &e, FR_EDATA,
                 "expected an array of integers, found an array of str");
    expect_error(fr_gguf_get_array(g, "a.u8", FR_GGUF_INTS, &array, &e), &e, FR_EDATA, "found u8");
    expect_error(fr_gguf_get_array(g, "huge", FR_GGUF_INTS, &array, &e), &e, FR_EDATA, "item 1");
    assert_true(u == 5 && i == 5 && f == 5 && t && s.bytes == 4 && !array);
    fr_gguf_close(g);
}

static void refuse(bytes *b, fr_status code, const char *sentence) {
    fr_gguf *g = (fr_gguf *)b;
    fr_error err = {0};
    const fr_status st = fr_gguf_open_memory(&g, b->store, b->n, "sample", &err);
    assert_null(g);
    expect_error(st, &err, code, sentence);
}

static void reader_says_what_is_wrong_in_the_header(void **state) {
    (void)state;
    bytes b = {.n = 0};
    refuse(&b, FR_EUNSUP, "is not a GGUF file");
    put(&b, "GGML\3\0\0\0", 8);
    refuse(&b, FR_EUNSUP, "is not a GGUF file");
    header(&b, 1, 0, 0);
    refuse(&b, FR_EUNSUP, "expected GGUF version 2 or 3, found 1");
    header(&b, 0x03000000, 0, 0);
    refuse(&b, FR_EUNSUP, "big-endian");
    header(&b, 3, 0, UINT64_MAX);
    refuse(&b, FR_EDATA, "metadata entries do not fit");
    header(&b, 3, 1ull << 40, 0);
    refuse(&b, FR_EDATA, "tensors do not fit");
    fr_gguf *g;
    fr_error err = {0};
    expect_error(fr_gguf_open_memory(&g, at(&b, 1), 8, "odd", &err), &err, FR_EARG,
                 "8-byte aligned");
    header(&b, 3, 0, 0); // nothing in it, and nothing wrong
    fr_gguf_close(opened(&b));
    fr_gguf_close(NULL);
}

static void reader_says_what_is_wrong_in_an_entry(void **state) {
    (void)state;
    bytes b;
    header(&b, 3, 0, 1), key(&b, "k", 13), u64(&b, 0);
    refuse(&b, FR_EDATA, "k: expected a value type 0 to 12, found 13");
    header(&b, 3, 0, 1), key(&b, "", 0), u64(&b, 0);
    refuse(&b, FR_EDATA, "a key at byte 24: expected 1 to 1023 printable");
    header(&b, 3, 0, 1), key(&b, "a\nb", 0), u64(&b, 0);
    refuse(&b, FR_EDATA, "a key at byte 24");
    header(&b, 3, 0, 1), u64(&b, UINT64_MAX - 3), u64(&b, 0);
    refuse(&b, FR_EDATA, "cut off: a key at byte 32 needs 18446744073709551612 bytes, 8 remain");
    header(&b, 3, 0, 1), key(&b, "k", 7), u8(&b, 2);
    refuse(&b, FR_EDATA, "k: expected a bool, 0 or 1, found 2");
    header(&b, 3, 0, 1), key(&b, "k", 9), u32(&b, 9), u64(&b, 1), u64(&b, 0);
    refuse(&b, FR_EDATA, "k: expected an array of scalars or strings");
    header(&b, 3, 0, 1), key(&b, "k", 9), u32(&b, 12), u64(&b, 1ull << 61), u64(&b, 0);
    refuse(&b, FR_EDATA, "k: expected no more items");
    header(&b, 3, 0, 1), key(&b, "k", 9), u32(&b, 8), u64(&b, 1ull << 61), u64(&b, 0);
    refuse(&b, FR_EDATA, "k: expected no more strings");
    header(&b, 3, 0, 1), key(&b, "k", 9), u32(&b, 8), u64(&b, 1), u64(&b, 1);
    refuse(&b, FR_EDATA, "a string of an array");
    header(&b, 3, 0, 2), key(&b, "k", 4), u32(&b, 1), key(&b, "k", 0), u8(&b, 1);
    refuse(&b, FR_EDATA, "the key k stands twice");
    for (uint32_t alignment = 0; alignment <= 24; alignment += 4) {
        header(&b, 3, 0, 1), key(&b, "general.alignment", 4), u32(&b, alignment);
        if (alignment == 8 || alignment == 16)
            fr_gguf_close(opened(&b));
        else
            refuse(&b, FR_EDATA, "general.alignment: expected a power of two");
    }
}

static void reader_says_what_is_wrong_in_a_tensor(void **state) {
    (void)state;
    bytes b;
    header(&b, 3, 1, 0), tensor(&b, "t", 19, 256, 1, 0), pad(&b, 32);
    refuse(&b, FR_EUNSUP, "t: tensor type 19 (iq1_s) cannot be read");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_Q4_K, 128, 1, 0), pad(&b, 32);
    refuse(&b, FR_EDATA, "the first a multiple of 256 (q4_k)");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_F32, 4, 0, 0), pad(&b, 32);
    refuse(&b, FR_EDATA, "found [4,0,1,1]");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_F32, 1ull << 32, 1ull << 32, 0), pad(&b, 32);
    refuse(&b, FR_EDATA, "a size that fits");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_F32, 1ull << 62, 1, 0), pad(&b, 32);
    refuse(&b, FR_EDATA, "a size that fits");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_F32, UINT64_MAX, 1, 0), pad(&b, 32);
    refuse(&b, FR_EDATA, "t: expected dimensions");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_F32, 4, 1, 4), pad(&b, 32), u64(&b, 0), u64(&b, 0),
        u64(&b, 0);
    refuse(&b, FR_EDATA, "t: expected an offset that is a multiple of 32, found 4");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_F32, 4, 1, 0), pad(&b, 32), u64(&b, 0);
    refuse(&b, FR_EDATA, "cut off: t needs 16 bytes at 96, the file has 104 bytes");
    header(&b, 3, 1, 0), tensor(&b, "t", FR_TYPE_F32, 4, 1, ~31ull);
    refuse(&b, FR_EDATA, "cut off: t begins at");
    header(&b, 3, 1, 0), text(&b, "t"), u32(&b, 5);
    for (int i = 0; i < 5; i++)
        u64(&b, 1);
    u32(&b, 0), u64(&b, 0), pad(&b, 32), u64(&b, 0);
    refuse(&b, FR_EDATA, "t: expected 1 to 4 dimensions, found 5");
    header(&b, 3, 2, 0), tensor(&b, "t", 0, 1, 1, 0), tensor(&b, "t", 0, 1, 1, 0), pad(&b, 32),
        u64(&b, 0);
    refuse(&b, FR_EDATA, "the tensor t stands twice");
}

// A file of an architecture with two tensors, of which the first has the type 4: 64 values, and so
// many bytes before the second.
static void with_type_4(bytes *b, const char *arch, size_t bytes_of_first) {
    const size_t second = (bytes_of_first + 31) / 32 * 32;
    header(b, 3, 2, 1);
    key(b, "general.architecture", FR_GGUF_STR), text(b, arch);
    tensor(b, "first", 4, 32, 2, 0), tensor(b, "second", FR_TYPE_F32, 8, 1, second);
    pad(b, 32);
    for (size_t i = 0; i < second + 32; i += 8)
        u64(b, 0);
}

// 64 values of MXFP4 take 34 bytes.
static void reader_takes_type_4_from_ollama_alone(void **state) {
    (void)state;
    static const char *const archs[] = {"gpt-oss", "gptoss"};
    bytes b;
    for (int i = 0; i < 2; i++) {
        with_type_4(&b, archs[i], 34);
        fr_gguf *g = opened(&b);
        assert_int_equal(fr_gguf_tensor_find(g, "first")->type, FR_TYPE_MXFP4_OLLAMA);
        assert_int_equal(fr_gguf_tensor_find(g, "first")->bytes, 34);
        fr_gguf_close(g);
        with_type_4(&b, archs[i], 72);
        refuse(&b, FR_EUNSUP, "first: tensor type 4 (q4_2) cannot be read");
    }
    with_type_4(&b, "llama", 34);
    refuse(&b, FR_EUNSUP, "first: tensor type 4 (q4_2) cannot be read");
    header(&b, 3, 1, 0), tensor(&b, "t", 4, 32, 1, 0), pad(&b, 32);
    refuse(&b, FR_EUNSUP, "t: tensor type 4 (q4_2) cannot be read");
}

// Three tensors of 64, 32 and 40 bytes; the data begins at byte 160 and ends at 320.
static void three(bytes *b, uint64_t first, uint64_t second, uint64_t third) {
    header(b, 3, 3, 0);
    tensor(b, "big", FR_TYPE_F32, 16, 1, first);
    tensor(b, "mid", FR_TYPE_F32, 8, 1, second);
    tensor(b, "odd", FR_TYPE_F32, 10, 1, third);
    pad(b, 32);
    assert_int_equal(b->n, 160);
    for (int i = 0; i < 160 / 8; i++)
        u64(b, 0);
}

// A flipped bit of an offset leaves every shape right and the text wrong.
static void reader_refuses_tensors_that_overlap(void **state) {
    (void)state;
    bytes b;
    three(&b, 0, 64, 96);
    fr_gguf_close(opened(&b));
    three(&b, 96, 64, 0); // in any order, and with room between them
    fr_gguf_close(opened(&b));
    three(&b, 0, 32, 96);
    refuse(&b, FR_EDATA,
           "sample: big and mid overlap: the first has bytes 160 to 223 of the file, so the second "
           "was expected at 224 or later, found at 192");
    three(&b, 32, 0, 64);
    refuse(&b, FR_EDATA,
           "big and odd overlap: the first has bytes 192 to 255 of the file, so the "
           "second was expected at 256 or later, found at 224");
    three(&b, 0, 64, 64);
    refuse(&b, FR_EDATA, "overlap: the first has bytes 224 to 2");
    three(&b, 0, 128, 96); // the rest of an odd size's block is nobody's, its last byte is
    refuse(&b, FR_EDATA,
           "odd and mid overlap: the first has bytes 256 to 295 of the file, so the "
           "second was expected at 296 or later, found at 288");
}

static void reader_refuses_every_cut(void **state) {
    (void)state;
    bytes b;
    sample(&b, 3);
    for (size_t n = 0; n < b.n; n++) {
        // A heap copy of just these bytes: a sanitizer sees one read too many.
        void *cut = malloc(n ? n : 1);
        assert_non_null(cut);
        memcpy(cut, b.store, n);
        fr_gguf *g;
        fr_error err = {0};
        const fr_status st = fr_gguf_open_memory(&g, cut, n, "cut", &err);
        assert_true(st == FR_EDATA || (n < 4 && st == FR_EUNSUP));
        assert_true(err.text[0] && !g);
        free(cut);
    }
}

static void reader_stands_every_byte_changed(void **state) {
    (void)state;
    bytes b;
    sample(&b, 3);
    uint64_t sum = 0;
    for (size_t i = 0; i < b.n; i++) {
        const uint8_t was = *at(&b, i);
        const uint8_t values[] = {
            0, 1, 0x7f, 0x80, 0xff, (uint8_t)(was + 1), (uint8_t)(was ^ 0x10)};
        for (size_t k = 0; k < sizeof values; k++) {
            fr_gguf *g;
            fr_error err = {0};
            *at(&b, i) = values[k];
            const fr_status st = fr_gguf_open_memory(&g, b.store, b.n, "changed", &err);
            assert_true(st ? !g && err.text[0] : g != NULL);
            if (!st) sum += touch_all(g);
            fr_gguf_close(g);
        }
        *at(&b, i) = was;
    }
    assert_true(sum);
}

static void reader_opens_only_regular_files(void **state) {
    (void)state;
    char folder[] = "/tmp/fr-reader-XXXXXX", path[64];
    fr_gguf *g;
    fr_error err = {0};
    assert_non_null(mkdtemp(folder));
    expect_error(fr_gguf_open(&g, folder, &err), &err, FR_EIO, "is not a regular file");
    snprintf(path, sizeof path, "%s/absent", folder);
    expect_error(fr_gguf_open(&g, path, &err), &err, FR_EIO, "No such file");
    snprintf(path, sizeof path, "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    expect_error(fr_gguf_open(&g, path, &err), &err, FR_EIO, "is not a regular file");
    unlink(path);
    snprintf(path, sizeof path, "%s/empty", folder);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fclose(f);
    expect_error(fr_gguf_open(&g, path, &err), &err, FR_EUNSUP, "is not a GGUF file");
    unlink(path);
    rmdir(folder);
}

// A real file: everything can be read, and again after its pages were given back.
static void reader_reads_a_real_model(void **state) {
    (void)state;
    const char *models = getenv("FR_MODELS");
    char path[1024], before[FR_GGUF_FINGERPRINT], after[FR_GGUF_FINGERPRINT];
    snprintf(path, sizeof path, "%s/smollm2-135m.gguf", models ? models : FR_SOURCE_DIR "/models");
    if (access(path, R_OK)) {
        print_message("%s is not there\n", path);
        skip();
    }
    fr_gguf *g, *again;
    fr_error err = {0};
    fr_gguf_str architecture;
    const fr_gguf_kv *tokens;
    if (fr_gguf_open(&g, path, &err)) fail_msg("%s", err.text);
    assert_int_equal(fr_gguf_get_str(g, "general.architecture", &architecture, NULL), FR_OK);
    assert_true(fr_gguf_str_is(architecture, "llama"));
    assert_int_equal(fr_gguf_get_array(g, "tokenizer.ggml.tokens", FR_GGUF_STRS, &tokens, NULL),
                     FR_OK);
    assert_int_equal(tokens->count, 49152);
    const fr_gguf_tensor *t = fr_gguf_tensor_find(g, "token_embd.weight");
    assert_int_equal(t->ne[0], 576);
    assert_int_equal(t->ne[1], 49152);
    fr_gguf_fingerprint(g, before);
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++)
        fr_gguf_release(g, fr_gguf_tensor_at(g, i), 0, SIZE_MAX);
    if (fr_gguf_open(&again, path, &err)) fail_msg("%s", err.text);
    for (size_t i = 0; i < fr_gguf_n_tensors(g); i++) {
        const fr_gguf_tensor *released = fr_gguf_tensor_at(g, i);
        assert_memory_equal(released->data, fr_gguf_tensor_at(again, i)->data, released->bytes);
    }
    fr_gguf_fingerprint(again, after);
    assert_string_equal(before, after);
    fr_gguf_fingerprint(g, after); // the one that is known
    assert_string_equal(before, after);
    fr_gguf_close(again);
    fr_gguf_close(g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reader_reads_hand_made_bytes),
        cmocka_unit_test(getters_give_what_fits),
        cmocka_unit_test(getters_say_what_they_found),
        cmocka_unit_test(reader_says_what_is_wrong_in_the_header),
        cmocka_unit_test(reader_says_what_is_wrong_in_an_entry),
        cmocka_unit_test(reader_says_what_is_wrong_in_a_tensor),
        cmocka_unit_test(reader_takes_type_4_from_ollama_alone),
        cmocka_unit_test(reader_refuses_tensors_that_overlap),
        cmocka_unit_test(reader_refuses_every_cut),
        cmocka_unit_test(reader_stands_every_byte_changed),
        cmocka_unit_test(reader_opens_only_regular_files),
        cmocka_unit_test(reader_reads_a_real_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
