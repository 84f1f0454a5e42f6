// test_writer.c — what the writer puts down, the reader finds; split models; fingerprints.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "gguf/hash.h"
#include "gguf/writer.h"
#include "kern/dequant.h"
#include "support/folder.h"
#include "support/gguf_touch.h"

static char folder[] = "/tmp/fr-writer-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    (void)state;
    DIR *d = opendir(folder);
    if (!d) return -1;
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') unlink(in_folder(e->d_name));
    closedir(d);
    return rmdir(folder);
}

static fr_gguf_writer *new_writer(void) {
    fr_gguf_writer *w;
    assert_int_equal(fr_gguf_writer_open(&w, NULL), FR_OK);
    return w;
}

static fr_gguf *opened(const char *path) {
    fr_gguf *g;
    fr_error err = {0};
    if (fr_gguf_open(&g, path, &err)) fail_msg("%s", err.text);
    return g;
}

static void finished(fr_gguf_writer *w, const char *path) {
    fr_error err = {0};
    if (fr_gguf_writer_finish(w, path, &err)) fail_msg("%s", err.text);
}

// A value of a type that the engine does not write by itself.
static void add_value(fr_gguf_writer *w, const char *key, fr_gguf_type type, const void *value) {
    fr_gguf_writer_kv(
        w, &(fr_gguf_kv){
               .key = {key, strlen(key)}, .type = type, .item = type, .count = 1, .data = value});
}

static void add_every_kind(fr_gguf_writer *w) {
    add_value(w, "u8", FR_GGUF_U8, &(uint8_t){250});
    add_value(w, "i8", FR_GGUF_I8, &(int8_t){-3});
    add_value(w, "u16", FR_GGUF_U16, &(uint16_t){65000});
    add_value(w, "i16", FR_GGUF_I16, &(int16_t){-300});
    fr_gguf_writer_u32(w, "u32", 4000000000u);
    fr_gguf_writer_i32(w, "i32", -70000);
    fr_gguf_writer_u64(w, "u64", 1ull << 63);
    add_value(w, "i64", FR_GGUF_I64, &(int64_t){INT64_MIN});
    fr_gguf_writer_f32(w, "f32", 0.1f);
    fr_gguf_writer_f64(w, "f64", 0.1);
    fr_gguf_writer_bool(w, "bool", true);
    fr_gguf_writer_str(w, "str", "text");
    fr_gguf_writer_bytes(w, "bytes", "a\0b", 3);
    fr_gguf_writer_str_array(w, "strs", (const char *[]){"x", "", "yz"}, 3);
    fr_gguf_writer_i32_array(w, "i32s", (int32_t[]){1, -2, 3}, 3);
    fr_gguf_writer_u32_array(w, "u32s", (uint32_t[]){1, UINT32_MAX}, 2);
    fr_gguf_writer_f32_array(w, "f32s", (float[]){1, -0.5f}, 2);
    fr_gguf_writer_raw_array(w, "bools", FR_GGUF_BOOL, "\1\0\1", 3);
    fr_gguf_writer_raw_array(w, "u8s", FR_GGUF_U8, "\1\2\3", 3);
    fr_gguf_writer_str_array(w, "none", NULL, 0);
}

static void check_every_kind(const fr_gguf *g) {
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "u8"), 0), 250);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "i8"), 0), -3);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "u16"), 0), 65000);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "i16"), 0), -300);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "u32"), 0), 4000000000u);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "i32"), 0), -70000);
    uint64_t big = 0;
    assert_int_equal(fr_gguf_get_u64(g, "u64", &big, NULL), FR_OK);
    assert_true(big == 1ull << 63);
    assert_true(fr_gguf_item_u64(fr_gguf_find(g, "u64"), 0) == 1ull << 63);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "i64"), 0), INT64_MIN);
    assert_true(fr_gguf_item_f64(fr_gguf_find(g, "f32"), 0) == 0.1f);
    assert_true(fr_gguf_item_f64(fr_gguf_find(g, "f64"), 0) == 0.1);
    assert_true(fr_gguf_item_bool(fr_gguf_find(g, "bool"), 0));
    assert_true(fr_gguf_str_is(fr_gguf_item_str(fr_gguf_find(g, "str"), 0), "text"));
    const fr_gguf_str s = fr_gguf_item_str(fr_gguf_find(g, "bytes"), 0);
    assert_true(s.bytes == 3 && !memcmp(s.data, "a\0b", 3));
    assert_true(fr_gguf_str_is(fr_gguf_item_str(fr_gguf_find(g, "strs"), 2), "yz"));
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "i32s"), 1), -2);
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "u32s"), 1), UINT32_MAX);
    assert_true(fr_gguf_item_f64(fr_gguf_find(g, "f32s"), 1) == -0.5);
    assert_true(fr_gguf_item_bool(fr_gguf_find(g, "bools"), 2));
    assert_int_equal(fr_gguf_item_i64(fr_gguf_find(g, "u8s"), 2), 3);
    assert_int_equal(fr_gguf_find(g, "none")->count, 0);
}

static void writer_keeps_every_kind_of_value(void **state) {
    (void)state;
    fr_gguf_writer *w = new_writer();
    add_every_kind(w);
    finished(w, in_folder("kinds.gguf"));
    fr_gguf_writer_close(w);
    fr_gguf *g = opened(in_folder("kinds.gguf"));
    assert_int_equal(fr_gguf_n_kv(g), 20);
    check_every_kind(g);
    // Copied entry by entry, they are the same again.
    w = new_writer();
    for (size_t i = 0; i < fr_gguf_n_kv(g); i++)
        fr_gguf_writer_kv(w, fr_gguf_kv_at(g, i));
    char before[FR_GGUF_FINGERPRINT], after[FR_GGUF_FINGERPRINT];
    fr_gguf_fingerprint(g, before);
    fr_gguf_close(g);
    void *data;
    size_t bytes;
    assert_int_equal(fr_gguf_writer_finish_memory(w, &data, &bytes, NULL), FR_OK);
    fr_gguf_writer_close(w);
    assert_int_equal(fr_gguf_open_memory(&g, data, bytes, "copy", NULL), FR_OK);
    check_every_kind(g);
    fr_gguf_fingerprint(g, after);
    assert_string_equal(before, after);
    fr_gguf_close(g);
    fr_free(data);
}

static void writer_keeps_tensors_of_every_type(void **state) {
    (void)state;
    for (uint32_t alignment = 8; alignment <= 4096; alignment *= 8) {
        uint8_t data[FR_TYPE_LIMIT][2048];
        fr_gguf_writer *w = new_writer();
        int n = 0;
        fr_gguf_writer_u32(w, "general.alignment", alignment);
        fr_gguf_writer_str(w, "general.architecture", "gpt-oss"); // for type 4
        for (uint32_t id = 0; id < FR_TYPE_LIMIT; id++) {
            const fr_qtype *q = fr_qtype_of(id);
            if (!q) continue;
            const int64_t ne[] = {q->block, 3, 1, 2};
            for (int i = 0; i < 6 * q->bytes; i++)
                data[id][i] = (uint8_t)(id * 31 + (uint32_t)i);
            if (n++ % 2)
                fr_gguf_writer_tensor(w, q->name, q->type, 4, ne, data[id]);
            else
                fr_gguf_writer_tensor_copy(w, q->name, q->type, 4, ne, data[id]);
        }
        finished(w, in_folder("types.gguf"));
        fr_gguf_writer_close(w);
        fr_gguf *g = opened(in_folder("types.gguf"));
        assert_int_equal(fr_gguf_n_tensors(g), n);
        for (uint32_t id = 0; id < FR_TYPE_LIMIT; id++) {
            const fr_qtype *q = fr_qtype_of(id);
            if (!q) continue;
            const fr_gguf_tensor *t = fr_gguf_tensor_find(g, q->name);
            assert_true(t && t->type == q->type && t->n_dims == 4);
            assert_true(t->ne[0] == q->block && t->ne[1] == 3 && t->ne[2] == 1 && t->ne[3] == 2);
            assert_int_equal(t->bytes, 6 * q->bytes);
            assert_int_equal((uintptr_t)t->data % alignment, 0);
            assert_memory_equal(t->data, data[id], t->bytes);
            fr_gguf_release(g, t, 0, t->bytes);
            assert_memory_equal(t->data, data[id], t->bytes);
        }
        fr_gguf_close(g);
    }
}

static void refuse(fr_gguf_writer *w, fr_status code, const char *sentence) {
    fr_error err = {0};
    const fr_status st = fr_gguf_writer_finish(w, in_folder("refused.gguf"), &err);
    assert_int_equal(st, code);
    assert_int_equal(err.code, code);
    if (!strstr(err.text, sentence)) fail_msg("expected \"%s\" in \"%s\"", sentence, err.text);
    assert_int_equal(access(in_folder("refused.gguf"), F_OK), -1);
    fr_gguf_writer_close(w);
}

static void writer_tells_what_was_collected_wrongly(void **state) {
    (void)state;
    const float one = 1;
    fr_gguf_writer *w = new_writer();
    fr_gguf_writer_u32(w, "k", 1), fr_gguf_writer_str(w, "k", "");
    refuse(w, FR_EARG, "the key k was given twice");
    w = new_writer();
    fr_gguf_writer_u32(w, "", 1);
    refuse(w, FR_EARG, "printable");
    w = new_writer();
    fr_gguf_writer_u32(w, "general.alignment", 12);
    refuse(w, FR_EARG, "general.alignment: expected a power of two");
    w = new_writer();
    fr_gguf_writer_i32(w, "general.alignment", 64);
    refuse(w, FR_EARG, "general.alignment: expected a u32, found i32");
    w = new_writer();
    fr_gguf_writer_tensor(w, "t", FR_TYPE_F32, 1, (int64_t[]){1}, &one);
    fr_gguf_writer_tensor(w, "t", FR_TYPE_F32, 1, (int64_t[]){1}, &one);
    refuse(w, FR_EARG, "the tensor t was given twice");
    w = new_writer();
    fr_gguf_writer_tensor(w, "t", FR_TYPE_Q8_0, 1, (int64_t[]){33}, &one);
    fr_gguf_writer_u32(w, "", 1); // the first failure is the one told
    refuse(w, FR_EARG, "t: expected a known type");
    fr_gguf_writer_close(NULL);
}

static void writer_leaves_the_old_file_when_the_disk_is_full(void **state) {
    (void)state;
    const int before = files_in(folder);
    fr_gguf_writer *w = new_writer();
    fr_gguf_writer_str(w, "k", "old");
    finished(w, in_folder("full.gguf"));
    static const uint8_t data[1 << 16];
    fr_gguf_writer_tensor(w, "t", FR_TYPE_Q8_0, 1, (int64_t[]){1024}, data);
    fr_gguf_writer_tensor(w, "u", FR_TYPE_F32, 1, (int64_t[]){1 << 14}, data);
    struct rlimit was, small = {1 << 12, RLIM_INFINITY};
    fr_error err = {0};
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
    small.rlim_max = was.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0); // stands for a full disk
    const fr_status st = fr_gguf_writer_finish(w, in_folder("full.gguf"), &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
    assert_int_equal(st, FR_EIO);
    assert_non_null(strstr(err.text, "full.gguf: File too large"));
    assert_int_equal(files_in(folder), before + 1);
    fr_gguf *g = opened(in_folder("full.gguf"));
    assert_true(fr_gguf_str_is(fr_gguf_item_str(fr_gguf_find(g, "k"), 0), "old"));
    assert_int_equal(fr_gguf_n_tensors(g), 0);
    fr_gguf_close(g);
    // The failure was the disk's, not the writer's: it can finish later.
    finished(w, in_folder("full.gguf"));
    g = opened(in_folder("full.gguf"));
    assert_int_equal(fr_gguf_n_tensors(g), 2);
    fr_gguf_close(g);
    assert_int_equal(fr_gguf_writer_finish(w, in_folder("no/such/folder.gguf"), &err), FR_EIO);
    assert_non_null(strstr(err.text, "No such file"));
    fr_gguf_writer_close(w);
}

// Part `number` (from 1) of `count`: tensor t<number>, of 100000 bytes, or all of them when count
// is 1.
static void write_part(const char *name, int number, int count, int no_in_file) {
    static float data[3][25000];
    fr_gguf_writer *w = new_writer();
    fr_gguf_writer_str(w, "general.architecture", "llama");
    if (count > 1) {
        add_value(w, "split.no", FR_GGUF_U16, &(uint16_t){(uint16_t)no_in_file});
        add_value(w, "split.count", FR_GGUF_U16, &(uint16_t){(uint16_t)count});
        fr_gguf_writer_i32(w, "split.tensors.count", 3);
    }
    for (int t = 0; t < 3; t++) {
        char tensor[16];
        for (int i = 0; i < 25000; i++)
            data[t][i] = (float)(t * 100 + i % 77);
        snprintf(tensor, sizeof tensor, "t%d", t + 1);
        if (count == 1 || t + 1 == number)
            fr_gguf_writer_tensor(w, tensor, FR_TYPE_F32, 2, (int64_t[]){5000, 5}, data[t]);
    }
    finished(w, in_folder(name));
    fr_gguf_writer_close(w);
}

static void expect_open(const char *name, fr_status code, const char *sentence) {
    fr_gguf *g;
    fr_error err = {0};
    assert_int_equal(fr_gguf_open(&g, in_folder(name), &err), code);
    assert_null(g);
    if (!strstr(err.text, sentence)) fail_msg("expected \"%s\" in \"%s\"", sentence, err.text);
}

static void split_models_open_whole(void **state) {
    (void)state;
    char split[FR_GGUF_FINGERPRINT], whole[FR_GGUF_FINGERPRINT];
    write_part("s-00001-of-00003.gguf", 1, 3, 0);
    write_part("s-00002-of-00003.gguf", 2, 3, 1);
    write_part("s-00003-of-00003.gguf", 3, 3, 2);
    write_part("s.gguf", 0, 1, 0);
    fr_gguf *g = opened(in_folder("s-00001-of-00003.gguf"));
    assert_int_equal(fr_gguf_n_files(g), 3);
    assert_int_equal(fr_gguf_n_tensors(g), 3);
    const fr_gguf_tensor *t = fr_gguf_tensor_find(g, "t3");
    assert_int_equal(t->file, 2);
    assert_true(((const float *)t->data)[78] == 201);
    fr_gguf_release(g, t, 0, t->bytes);
    assert_true(((const float *)t->data)[78] == 201);
    assert_true(touch_all(g));
    fr_gguf_fingerprint(g, split);
    fr_gguf_close(g);
    g = opened(in_folder("s.gguf"));
    fr_gguf_fingerprint(g, whole);
    fr_gguf_close(g);
    assert_string_equal(split, whole);
}

static void split_models_say_what_is_missing(void **state) {
    (void)state;
    expect_open("s-00002-of-00003.gguf", FR_EDATA, "part 2 of 3 of a split model: open ");
    expect_open("s-00002-of-00003.gguf", FR_EDATA, "s-00001-of-00003.gguf instead");
    write_part("renamed.gguf", 1, 3, 0);
    expect_open("renamed.gguf", FR_EDATA, "its name must end in -00001-of-00003.gguf");
    write_part("s-00003-of-00003.gguf", 3, 3, 1); // a wrong file under the right name
    expect_open("s-00001-of-00003.gguf", FR_EDATA, "expected part 3 of 3, found part 2 of 3");
    write_part("s-00003-of-00003.gguf", 2, 3, 2);
    expect_open("s-00001-of-00003.gguf", FR_EDATA, "the tensor t2 stands twice");
    write_part("s-00003-of-00003.gguf", 0, 3, 2);
    expect_open("s-00001-of-00003.gguf", FR_EDATA,
                "split.tensors.count: expected 2 tensors, found 3");
    unlink(in_folder("s-00003-of-00003.gguf"));
    expect_open("s-00001-of-00003.gguf", FR_EIO, "part 3 of 3 of this split model: ");
    expect_open("s-00001-of-00003.gguf", FR_EIO, "No such file");
}

typedef struct variant { // what one fingerprint is of
    const char *key, *text, *tensor;
    int64_t ne0, ne1;
    size_t changed; // byte of the data that differs
} variant;

static void take_fingerprint(variant v, char hex[FR_GGUF_FINGERPRINT]) {
    static uint8_t data[400000];
    memset(data, 7, sizeof data);
    if (v.changed) data[v.changed]++;
    fr_gguf_writer *w = new_writer();
    fr_gguf_writer_str(w, v.key, v.text);
    fr_gguf_writer_tensor(w, v.tensor, FR_TYPE_F32, 2, (int64_t[]){v.ne0, v.ne1}, data);
    void *file;
    size_t bytes;
    fr_gguf *g;
    assert_int_equal(fr_gguf_writer_finish_memory(w, &file, &bytes, NULL), FR_OK);
    fr_gguf_writer_close(w);
    assert_int_equal(fr_gguf_open_memory(&g, file, bytes, "variant", NULL), FR_OK);
    fr_gguf_fingerprint(g, hex);
    fr_gguf_close(g);
    fr_free(file);
}

static void fingerprint_sees_what_it_promises(void **state) {
    (void)state;
    const variant variants[] = {
        {"k", "v", "t", 1000, 100, 0},     {"K", "v", "t", 1000, 100, 0},
        {"k", "w", "t", 1000, 100, 0},     {"k", "v", "u", 1000, 100, 0},
        {"k", "v", "t", 100, 1000, 0},     {"k", "v", "t", 1000, 100, 65535},
        {"k", "v", "t", 1000, 100, 1},     {"k", "v", "t", 1000, 100, 400000 - 65536},
        {"k", "v", "t", 1000, 100, 399999}};
    enum { N = sizeof variants / sizeof *variants };
    char hex[N][FR_GGUF_FINGERPRINT], middle[FR_GGUF_FINGERPRINT];
    for (int i = 0; i < N; i++) {
        take_fingerprint(variants[i], hex[i]);
        assert_int_equal(strspn(hex[i], "0123456789abcdef"), 32);
        for (int k = 0; k < i; k++)
            assert_string_not_equal(hex[i], hex[k]);
    }
    // The middle of a large tensor is not read: that is what makes it quick.
    take_fingerprint((variant){"k", "v", "t", 1000, 100, 65536}, middle);
    assert_string_equal(middle, hex[0]);
}

// Values of the reference implementation, for bytes 7i+3.
static void hash_is_xxh64(void **state) {
    (void)state;
    static const struct {
        size_t n;
        uint64_t seed_0, seed_golden;
    } known[] = {
        {0, 0xef46db3751d8e999u, 0xac75fda2929b17efu},
        {1, 0x1f25c8d0bc1f4bb6u, 0x79cf94f5ace37fe1u},
        {3, 0x31d2363f52e564c9u, 0x96d2a5e583ddd738u},
        {4, 0x9bb64b7d66ee9fdau, 0x4a862fbb4b73776eu},
        {8, 0xdab99d95c6f90092u, 0xc6e75e2cbd8e07eeu},
        {14, 0xc7f1d4d0acfa5a14u, 0x51341a138b098941u},
        {31, 0xa2aa5f33cc4a6119u, 0x381822f33376d6b6u},
        {32, 0x23c3c17ef790fd97u, 0x9abd315470ac276au},
        {33, 0x50a7cfc7ba588784u, 0x72cdd3262f467933u},
        {63, 0x5e3e54b431c7493cu, 0x634da7d265979e61u},
        {64, 0x0eb64b3ef6eeb01fu, 0xbcb3847d70525180u},
        {100, 0xa61f8d4c170fe531u, 0x86f549ede5ac87e2u},
        {200, 0xa6cb3c09bc829b24u, 0xfb1dd7eaa8eb8a3cu},
    };
    uint8_t data[200];
    for (int i = 0; i < 200; i++)
        data[i] = (uint8_t)(i * 7 + 3);
    for (size_t k = 0; k < sizeof known / sizeof *known; k++)
        for (size_t piece = 1; piece <= 200; piece += 13) { // fed whole or in pieces
            fr_hash a, b;
            fr_hash_open(&a, 0);
            fr_hash_open(&b, 0x9e3779b1);
            for (size_t i = 0; i < known[k].n; i += piece) {
                const size_t n = known[k].n - i < piece ? known[k].n - i : piece;
                fr_hash_add(&a, data + i, n);
                fr_hash_add(&b, data + i, n);
            }
            assert_true(fr_hash_value(&a) == known[k].seed_0);
            assert_true(fr_hash_value(&b) == known[k].seed_golden);
        }
}

static void q8_0_is_nearest(void **state) {
    (void)state;
    float src[96], back[96];
    uint8_t block[3 * 34];
    for (int i = 0; i < 32; i++) {
        src[i] = (float)(i * 8 - 127); // d = 1: integers stay
        src[32 + i] = 0;
        src[64 + i] = i ? (float)i + 0.5f : -127; // d = 1: halves to even
    }
    fr_gguf_quantize_q8_0(src, block, 96);
    fr_dequant_row(FR_TYPE_Q8_0, block, back, 96);
    for (int i = 0; i < 32; i++) {
        assert_true(back[i] == src[i]);
        assert_true(back[32 + i] == 0);
        assert_true(back[64 + i] == (i ? (float)((i + 1) / 2 * 2) : -127));
    }
    for (int i = 0; i < 32; i++)
        src[i] = i % 2 ? -1e30f : 1e30f; // beyond what f16 times 127 holds
    fr_gguf_quantize_q8_0(src, block, 32);
    fr_dequant_row(FR_TYPE_Q8_0, block, back, 32);
    for (int i = 0; i < 32; i++)
        assert_true(back[i] == (i % 2 ? -1 : 1) * 65504.0f * 127);
}

// Root mean square of the error over that of the values.
static double error_of(fr_type type, const float *x, int n) {
    static uint8_t codes[4096];
    static float back[1024];
    double error = 0, all = 0;
    fr_gguf_quantize(type, x, codes, n);
    fr_dequant_row(type, codes, back, n);
    for (int i = 0; i < n; i++) {
        error += (double)(x[i] - back[i]) * (x[i] - back[i]);
        all += (double)x[i] * x[i];
    }
    return all > 0 ? sqrt(error / all) : sqrt(error);
}

static void fewer_bits_are_near_too(void **state) {
    (void)state;
    enum { N = 1024 };
    static float normal[N], shifted[N], zeros[N];
    uint64_t random = 1;
    for (int i = 0; i < N; i++) {
        for (int k = 0; k < 12; k++) { // the sum of twelve uniform numbers is nearly normal
            random = random * 6364136223846793005u + 1442695040888963407u;
            normal[i] += (float)(random >> 40) / (float)(1 << 24) - 0.5f;
        }
        normal[i] *= i < N / 2 ? 0.02f : 3.0f; // blocks of two sizes
        shifted[i] = 1 + 0.1f * normal[i];     // nothing is below zero
    }
    assert_true(error_of(FR_TYPE_F32, normal, N) == 0);
    assert_true(error_of(FR_TYPE_Q8_0, normal, N) < 0.007);
    assert_true(error_of(FR_TYPE_Q6_K, normal, N) < 0.022);
    assert_true(error_of(FR_TYPE_Q4_K, normal, N) < 0.08);
    assert_true(error_of(FR_TYPE_Q6_K, shifted, N) < 0.02);
    assert_true(error_of(FR_TYPE_Q4_K, shifted, N) < 0.05);
    for (int type = 0; type < FR_TYPE_LIMIT; type++)
        if (fr_gguf_quantizes((fr_type)type)) assert_true(error_of((fr_type)type, zeros, N) == 0);
    assert_false(fr_gguf_quantizes(FR_TYPE_Q5_K));
}

static void a_hole_counts_as_zeros(void **state) {
    (void)state;
    uint8_t data[40], other[40];
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i + 1);
    for (size_t hole = 0; hole + 8 <= sizeof data; hole++) {
        fr_hash h;
        memcpy(other, data, sizeof data);
        memset(other + hole, 0, 8);
        fr_hash_open(&h, 0);
        fr_hash_add(&h, other, sizeof other);
        assert_true(fr_hash_around(data, sizeof data, hole) == fr_hash_value(&h));
        memset(other + hole, 0xff, 8); // whatever stands there
        assert_true(fr_hash_around(other, sizeof other, hole) == fr_hash_value(&h));
    }
}

// Metadata, padding and tensors: one changed bit anywhere is a file that does not open or whose
// checksum is another.
static void a_file_that_says_its_checksum_shows_every_change(void **state) {
    (void)state;
    static uint8_t file[4096] __attribute__((aligned(64)));
    const float data[3] = {1, 2, 3};
    fr_error err = {0};
    fr_gguf_writer *w = new_writer();
    add_every_kind(w);
    fr_gguf_writer_tensor(w, "t", FR_TYPE_F32, 1, (int64_t[]){3}, data);
    assert_int_equal(fr_gguf_writer_finish_summed(w, "sum", in_folder("summed.gguf"), &err), FR_OK);
    fr_gguf_writer_close(w);
    fr_gguf *g = opened(in_folder("summed.gguf"));
    const size_t n = fr_gguf_file_bytes(g);
    assert_int_equal(fr_gguf_check_sum(g, "sum", &err), FR_OK);
    assert_int_equal(fr_gguf_check_sum(g, "none", &err), FR_EDATA);
    assert_int_equal(fr_gguf_check_sum(g, "str", &err), FR_EDATA);
    check_every_kind(g);
    fr_gguf_close(g);
    FILE *f = fopen(in_folder("summed.gguf"), "rb");
    assert_non_null(f);
    assert_true(n <= sizeof file && fread(file, 1, n, f) == n);
    fclose(f);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        if (!fr_gguf_open_memory(&g, file, n, "memory", &err)) {
            if (!fr_gguf_check_sum(g, "sum", &err)) fail_msg("bit %zu", bit);
            fr_gguf_close(g);
        }
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writer_keeps_every_kind_of_value),
        cmocka_unit_test(writer_keeps_tensors_of_every_type),
        cmocka_unit_test(writer_tells_what_was_collected_wrongly),
        cmocka_unit_test(writer_leaves_the_old_file_when_the_disk_is_full),
        cmocka_unit_test(split_models_open_whole),
        cmocka_unit_test(split_models_say_what_is_missing),
        cmocka_unit_test(fingerprint_sees_what_it_promises),
        cmocka_unit_test(hash_is_xxh64),
        cmocka_unit_test(a_hole_counts_as_zeros),
        cmocka_unit_test(a_file_that_says_its_checksum_shows_every_change),
        cmocka_unit_test(q8_0_is_nearest),
        cmocka_unit_test(fewer_bits_are_near_too),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
