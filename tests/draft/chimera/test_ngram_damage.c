// Files of n-gram stores that are damaged in every way: opening them crashes nobody, and every
// vector that they still give is the right one.
#define _GNU_SOURCE // memmem
#include "draft/chimera/ngrams.h"

enum { D = 24 };

// Opens what was damaged: all that it gives must be right, before and after more is added, and the
// result must be sound.
static int survive(const fr_ngram_store_options *o, int n, int *rebuilt) {
    const int d = o->kind.d;
    fr_ngram_store *s = open_store(o);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    const int left = there(s, 0, n, d);
    assert_true(left >= 0);
    if (c.rebuilt) {
        assert_int_equal(left, 0);
        assert_string_not_equal(c.trouble, "");
    }
    *rebuilt += c.rebuilt;
    add(s, n - 40, n + 40, d);
    assert_int_equal(there(s, n - 40, n + 40, d), 80);
    assert_true(there(s, 0, n, d) >= left);
    assert_int_equal(fr_ngram_store_count(s).damaged, 0);
    fr_ngram_store_close(s);
    s = open_store(o);
    assert_false(fr_ngram_store_count(s).rebuilt);
    assert_int_equal(there(s, n - 40, n + 40, d), 80);
    fr_ngram_store_close(s);
    return left;
}

static void do_damage(bytes *b, int how) {
    const size_t at = (size_t)dice_bits() % b->n, page = at & ~(size_t)4095;
    const size_t run = b->n - page < 4096 ? b->n - page : 4096;
    switch (how) {
    case 0: // a bit
        b->data[at] ^= (uint8_t)(1 << dice_below(8));
        break;
    case 1: // a byte where pages say what they are and where their nodes lie
        b->data[page + (size_t)dice_below((int)(run < 200 ? run : 200))] = (uint8_t)dice_bits();
        break;
    case 2: // a page of noise
        for (size_t i = 0; i < run; i++)
            b->data[page + i] = (uint8_t)dice_bits();
        break;
    case 3: // a page of nothing
        memset(b->data + page, 0, run);
        break;
    case 4: // a page in the place of another
        memcpy(b->data + page, b->data + ((size_t)dice_bits() % (b->n / 4096)) * 4096, run);
        break;
    case 5: // cut
        b->n = at;
        break;
    case 6: // a byte of the first pages
        b->data[at % 8192 % b->n] ^= (uint8_t)(1 + dice_below(255));
        break;
    }
}

static void no_damage_is_believed(void **state) {
    (void)state;
    enum { KINDS = 7 };
    const int rounds = getenv("FR_QUICK") ? 6 : 40;
    dice_begin(73);
    for (int wide = 0; wide < 2; wide++) {
        const int d = wide ? 600 : D, n = wide ? 200 : 2000;
        place p;
        place_begin(&p);
        const fr_ngram_store_options o = ngram_options(&p, d);
        fr_ngram_store *s = open_store(&o);
        for (int i = 0; i < n; i += 50) // many commits leave free pages
            add(s, i, i + 50, d);
        fr_ngram_store_close(s);
        const bytes whole = bytes_read(p.file);
        int rebuilt[KINDS] = {0};
        for (int i = 0; i < KINDS * rounds; i++) {
            bytes b = {malloc(whole.n), whole.n};
            memcpy(b.data, whole.data, whole.n);
            do_damage(&b, i % KINDS);
            bytes_write(p.file, b.data, b.n);
            const int before = rebuilt[i % KINDS], left = survive(&o, n, &rebuilt[i % KINDS]);
            // What is not thrown away is whole, or at least as the commit before had left it.
            if (rebuilt[i % KINDS] == before) assert_true(left >= n - 50);
            free(b.data);
        }
        for (int i = 0; i < KINDS; i++)
            print_message("d %d, damage %d: %d of %d begun anew\n", d, i, rebuilt[i], rounds);
        assert_true(rebuilt[2] >= rounds / 4 && rebuilt[5] >= rounds / 2);
        free(whole.data);
        place_end(&p);
    }
}

static void poke(const char *path, size_t at, uint8_t value) {
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0 && pwrite(fd, &value, 1, (off_t)at) == 1);
    close(fd);
}

// Each byte of the file wrong in turn: the store is begun anew, or gives all that was in it.
static void every_byte_is_noticed_or_of_no_use(void **state) {
    (void)state;
    enum { N = 12, ENTRY = (NGRAM_N + D) * 4 + 8 }; // tokens, floats and their sum
    const size_t step = getenv("FR_QUICK") ? 7 : 1;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    add(s, 0, N, D);
    fr_ngram_store_close(s);
    const bytes whole = bytes_read(p.file);
    int rebuilt = 0;
    for (size_t at = 0; at < whole.n; at += step) {
        poke(p.file, at, whole.data[at] ^ 0x41);
        s = open_store(&o);
        const bool anew = fr_ngram_store_count(s).rebuilt;
        const int left = there(s, 0, N, D);
        fr_ngram_store_close(s);
        // A head that is wrong makes way for the other one, of a commit with nothing in it.
        if (left != (anew ? 0 : N) && (left || at >= 8192))
            fail_msg("byte %zu: %d of %d are there", at, left, N);
        rebuilt += anew;
        if (anew)
            bytes_write(p.file, whole.data, whole.n);
        else
            poke(p.file, at, whole.data[at]);
    }
    print_message("%zu bytes, %d times begun anew\n", whole.n, rebuilt);
    assert_true((size_t)rebuilt >= N * ENTRY / step);
    free(whole.data);
    place_end(&p);
}

// Numbers that LMDB would follow: each one wrong on its own, in every page that has it.
static void every_number_of_a_page_is_checked(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    for (int i = 0; i < 400; i += 20)
        add(s, i, i + 20, D);
    fr_ngram_store_close(s);
    const bytes whole = bytes_read(p.file);
    int rebuilt = 0, pages = 0;
    for (size_t page = 0; page < whole.n; page += 4096) {
        int here = 0;
        for (size_t at = 0; at < 20; at++) {  // number, kind, bounds, first offset
            if (at == 8 || at == 9) continue; // of no use
            whole.data[page + at] ^= 0x11;
            bytes_write(p.file, whole.data, whole.n);
            whole.data[page + at] ^= 0x11;
            survive(&o, 400, &here);
        }
        pages += here > 0;
        rebuilt += here;
        // All matter in a page that is in use, none in one that is free. Of a head only what says
        // that it is one (byte 10), and the magic number (16..19).
        assert_true(here == 0 || (page < 8192 ? here >= 4 : here == 18));
    }
    print_message("%zu pages, %d in use, %d times begun anew\n", whole.n / 4096, pages, rebuilt);
    assert_true(pages > 10);
    free(whole.data);
    place_end(&p);
}

static uint64_t word_at(const bytes *b, size_t at) {
    uint64_t word;
    assert_true(at + sizeof word <= b->n);
    memcpy(&word, b->data + at, sizeof word);
    return word;
}

// The list of free pages is well formed and every value can be read; the next writer would take the
// root of all values for a page to write to.
static void a_page_both_free_and_in_use_is_seen(void **state) {
    (void)state;
    enum { FREE_ROOT = 80, VALUE_ROOT = 128, COMMIT = 144 }; // in a head, by LMDB's struct MDB_meta
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    for (int i = 0; i < 400; i += 20)
        add(s, i, i + 20, D);
    fr_ngram_store_close(s);
    for (int round = 0; round < 2; round++) { // first only that it is found: one free page alone
        bytes b = bytes_read(p.file);
        const size_t head = word_at(&b, COMMIT) < word_at(&b, 4096 + COMMIT) ? 4096 : 0;
        const size_t leaf = word_at(&b, head + FREE_ROOT) * 4096;
        assert_int_equal(b.data[leaf + 10], 2); // one leaf
        const size_t node = leaf + (word_at(&b, leaf + 16) & 0xffff);
        const uint64_t one = 1, root = word_at(&b, head + VALUE_ROOT);
        assert_in_range(word_at(&b, node + 16), 1, 100);
        memcpy(b.data + node + 16, &one, sizeof one); // behind the node's 8 bytes and the key's
        if (round) memcpy(b.data + node + 24, &root, sizeof root);
        bytes_write(p.file, b.data, b.n);
        free(b.data);
        s = open_store(&o);
        assert_int_equal(fr_ngram_store_count(s).rebuilt, round);
        assert_int_equal(there(s, 0, 400, D), round ? 0 : 400);
        fr_ngram_store_close(s);
    }
    place_end(&p);
}

static void garbage_is_a_new_store(void **state) {
    (void)state;
    place p;
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    dice_begin(79);
    for (int i = 0; i < 40; i++) {
        static uint8_t noise[65536];
        const size_t n = i < 3 ? (size_t)i : (size_t)dice_below(sizeof noise);
        int rebuilt = 0;
        for (size_t k = 0; k < n; k++)
            noise[k] = i % 2 ? (uint8_t)dice_bits() : 0;
        bytes_write(p.file, noise, n);
        bytes_write(p.lock, noise, (size_t)dice_below(sizeof noise)); // LMDB's own file too
        survive(&o, 100, &rebuilt);
        assert_int_equal(rebuilt, n > 0); // an empty file is a new one
    }
    place_end(&p);
}

static void a_value_that_rots_while_open_is_not_returned(void **state) {
    (void)state;
    place p;
    float v[D];
    place_begin(&p);
    const fr_ngram_store_options o = ngram_options(&p, D);
    fr_ngram_store *s = open_store(&o);
    add(s, 0, 10, D);
    const bytes b = bytes_read(p.file);
    const fr_ngram key = ngram_key(4);
    ngram_vector(&key, v, D);
    const uint8_t *at = memmem(b.data, b.n, v, sizeof v);
    assert_non_null(at);
    const int fd = open(p.file, O_WRONLY);
    for (; at; at = memmem(at + 1, b.n - (size_t)(at + 1 - b.data), v, sizeof v)) {
        const uint8_t wrong = at[9] ^ 4;
        assert_int_equal(pwrite(fd, &wrong, 1, at + 9 - b.data), 1);
    }
    close(fd);
    assert_int_equal(there(s, 0, 4, D), 4);
    assert_false(fr_ngram_store_get(s, &key, v));
    assert_int_equal(there(s, 0, 10, D), 0); // nor are its neighbours trusted
    add(s, 10, 20, D);
    const fr_ngram_store_counts c = fr_ngram_store_count(s);
    assert_int_equal(c.damaged, 1);
    assert_int_equal(c.dropped, 10);
    assert_non_null(strstr(c.trouble, "damaged"));
    fr_ngram_store_close(s);
    int rebuilt = 0;
    survive(&o, 100, &rebuilt);
    assert_int_equal(rebuilt, 1);
    free(b.data);
    place_end(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_damage_is_believed),
        cmocka_unit_test(every_byte_is_noticed_or_of_no_use),
        cmocka_unit_test(every_number_of_a_page_is_checked),
        cmocka_unit_test(a_page_both_free_and_in_use_is_seen),
        cmocka_unit_test(garbage_is_a_new_store),
        cmocka_unit_test(a_value_that_rots_while_open_is_not_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
